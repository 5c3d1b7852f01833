//! The expectations of one device, for comparisons with another run.

use super::form::{Expectations, ExpectedTime};
use chapter_results::device::{Fingerprint, TimeSource};
use chapter_results::part::{Kind, Plan};
use chapter_terminal::UsageError;
use std::fs;
use std::path::{Path, PathBuf};

/// A target's figures.
pub struct Recorded {
    /// The target.
    pub target: String,
    /// The device that they were measured on.
    pub device: Fingerprint,
    /// Its parts.
    pub parts: Vec<RecordedPart>,
}

/// A part's figures.
pub struct RecordedPart {
    /// Its name.
    pub name: String,
    /// The hash of its work.
    pub workload: String,
    /// The work of each group that has a plan.
    pub plans: Vec<Plan>,
    /// What was timed.
    pub times: Vec<RecordedTime>,
}

/// One figure.
pub struct RecordedTime {
    /// The group's id.
    pub group: String,
    /// The variant's id.
    pub variant: String,
    /// What is timed.
    pub kind: Kind,
    /// Its time in microseconds.
    pub us: f64,
    /// How far from it a run may be, in microseconds; where no run is judged by it, how far the recorded runs are apart.
    pub tolerance_us: f64,
}

/// All measured figures in the folder of one device, by target.
///
/// # Errors
/// The folder cannot be read, holds no expectations, or holds those of a model.
pub fn recorded(folder: &Path) -> Result<Vec<Recorded>, UsageError> {
    let refuse = |why: String| UsageError(format!("{}: {why}", folder.display()));
    let entries = fs::read_dir(folder).map_err(|error| refuse(error.to_string()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let target = file.file_stem().unwrap_or_default().to_string_lossy();
        let Some(expected) = Expectations::read(&file, &target)? else {
            continue;
        };
        if expected.times == TimeSource::Modelled {
            return Err(refuse(
                "these figures are modelled, not measured".to_owned(),
            ));
        }
        all.push(Recorded::from(expected));
    }
    if all.is_empty() {
        return Err(refuse("no expectations of a device are in it".to_owned()));
    }
    Ok(all)
}

impl From<Expectations> for Recorded {
    fn from(expected: Expectations) -> Self {
        let parts = expected.parts.into_iter().map(|part| RecordedPart {
            name: part.name,
            workload: part.workload,
            plans: part.plans,
            times: part.times.into_iter().map(RecordedTime::from).collect(),
        });
        Self {
            target: expected.target,
            device: expected.device,
            parts: parts.collect(),
        }
    }
}

impl From<ExpectedTime> for RecordedTime {
    fn from(time: ExpectedTime) -> Self {
        let observed = time
            .observed
            .map(|observed| (observed.us, observed.range_us));
        let expected = (time.us.unwrap_or(0.0), time.tolerance_us.unwrap_or(0.0));
        let (us, tolerance_us) = observed.unwrap_or(expected);
        Self {
            group: time.group,
            variant: time.variant,
            kind: time.kind,
            us,
            tolerance_us,
        }
    }
}
