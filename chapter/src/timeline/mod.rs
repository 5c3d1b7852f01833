//! `timeline`: what ran when, of a file that a run left behind.

mod analysis;

use anyhow::Result;
use chapter_results::Results;
use examples_host::exit::Exit;
use examples_host::options::UsageError;
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
    analysis::print(&results);
    Ok(Exit::LessonHolds)
}
