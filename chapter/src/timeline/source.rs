//! What a file holds: an example's `--json`, or an export of Nsight Systems. The content decides, not the name.

use anyhow::Result;
use chapter_results::Results;
use chapter_results::intervals::Recording;
use chapter_timeline::analysis::facts::Facts;
use chapter_timeline::nsight;
use examples_host::options::UsageError;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// One timeline of a file.
pub struct Recorded {
    /// What it is of.
    pub title: String,
    /// What ran when.
    pub recording: Recording,
    /// What else is known of it.
    pub facts: Facts,
}

/// What a file holds.
pub struct Contents {
    /// What is to be known before its timelines are looked at.
    pub notes: Vec<String>,
    /// The timelines; those without an operation are left out. Never empty.
    pub timelines: Vec<Recorded>,
}

/// Reads a file.
///
/// # Errors
/// [`UsageError`]: when it cannot be read, is neither, or nothing ran in it.
pub fn read(path: &Path) -> Result<Contents> {
    let mut contents = if is_database(path)? {
        of_nsight_systems(path)?
    } else {
        of_example(path)?
    };
    let runs = |timeline: &Recorded| !timeline.recording.intervals.is_empty();
    contents.timelines.retain(runs);
    if contents.timelines.is_empty() {
        let path = path.display();
        let nothing =
            format!("{path} holds no operations: nothing that ran on a device was recorded");
        Err(UsageError(nothing))?;
    }
    Ok(contents)
}

/// Whether a file begins as an SQLite database does.
fn is_database(path: &Path) -> Result<bool, UsageError> {
    const BEGIN: &[u8] = b"SQLite format 3\0";
    let mut begin = Vec::new();
    File::open(path)
        .and_then(|file| file.take(BEGIN.len() as u64).read_to_end(&mut begin))
        .map_err(|error| UsageError(format!("cannot read {}: {error}", path.display())))?;
    Ok(begin == BEGIN)
}

fn of_nsight_systems(path: &Path) -> Result<Contents, UsageError> {
    let export =
        nsight::read(path).map_err(|error| UsageError(format!("{}: {error}", path.display())))?;
    let timelines = export.traces.into_iter().map(|trace| Recorded {
        title: trace.title,
        recording: trace.recording,
        facts: trace.facts,
    });
    Ok(Contents {
        notes: export.notes,
        timelines: timelines.collect(),
    })
}

fn of_example(path: &Path) -> Result<Contents, UsageError> {
    let results = Results::read(path).map_err(|error| {
        let hint = if path.extension().is_some_and(|name| name == "nsys-rep") {
            "; export a report of Nsight Systems first: nsys export --type sqlite FILE"
        } else {
            ""
        };
        UsageError(format!("{error}{hint}"))
    })?;
    let example = results.example;
    let parts = results.parts.into_iter();
    let timelines = parts.flat_map(|part| {
        let title = format!("{example}, {}", part.name);
        part.timelines.into_iter().map(move |timeline| Recorded {
            title: format!("{title}: {}", timeline.variant),
            facts: Facts::of(&timeline.recording),
            recording: timeline.recording,
        })
    });
    Ok(Contents {
        notes: Vec::new(),
        timelines: timelines.collect(),
    })
}
