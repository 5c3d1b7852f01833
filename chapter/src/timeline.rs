//! `timeline`: what ran when, of a file that a run left behind.

use anyhow::Result;
use chapter_results::Results;
use examples_host::exit::Exit;
use examples_host::options::UsageError;
use examples_host::output;
use std::path::PathBuf;

/// What is shown.
#[derive(clap::Args)]
pub struct Arguments {
    /// `--json` of an example
    file: PathBuf,
}

/// Shows it.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let results = Results::read(&arguments.file).map_err(|error| UsageError(error.to_string()))?;
    for part in &results.parts {
        for timeline in &part.timelines {
            output::line(format!(
                "{}: {}: {}",
                part.name, timeline.variant, timeline.recording
            ));
        }
    }
    Ok(Exit::LessonHolds)
}
