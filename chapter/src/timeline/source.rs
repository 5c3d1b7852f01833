//! What a file holds.

use anyhow::Result;
use chapter_results::Results;
use chapter_results::intervals::Recording;
use chapter_timeline::analysis::facts::Facts;
use examples_host::options::UsageError;
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
/// [`UsageError`]: when it cannot be read, is no such file, or nothing ran in it.
pub fn read(path: &Path) -> Result<Contents> {
    let mut contents = of_example(path)?;
    let all = contents.timelines.len();
    contents
        .timelines
        .retain(|timeline| !timeline.recording.intervals.is_empty());
    let nothing = |why: &str| UsageError(format!("{}: {why}", path.display()));
    match (all, contents.timelines.len()) {
        (0, _) => Err(nothing(
            "no timelines: the parts that ran record none; try another `--part`",
        ))?,
        (_, 0) => Err(nothing("no operations: nothing ran on a device"))?,
        _ => Ok(contents),
    }
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
