//! `timeline`: what ran when, of a file that a run left behind.

mod analysis;
mod source;

use anyhow::Result;
use examples_host::exit::Exit;
use examples_host::output;
use std::path::PathBuf;

/// What is shown.
#[derive(clap::Args)]
pub struct Arguments {
    /// `--json` of an example, or an export of Nsight Systems (`nsys export --type sqlite`)
    file: PathBuf,
    /// How many of the gaps to list, the longest first
    #[arg(long, default_value_t = 5, value_name = "N")]
    gaps: usize,
}

/// Shows it.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let contents = source::read(&arguments.file)?;
    for note in &contents.notes {
        output::line(note);
    }
    for timeline in &contents.timelines {
        output::line(analysis::text(timeline, arguments.gaps));
    }
    Ok(Exit::LessonHolds)
}
