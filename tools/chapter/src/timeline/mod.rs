//! `timeline`: analyses and draws the timelines in a file of results.

mod analysis;
pub mod draw;
mod source;
mod stretch;

use anyhow::Result;
use chapter_terminal::Exit;
use chapter_terminal::UsageError;
use chapter_terminal::wrap;
use source::Contents;
use std::iter;
use std::path::{Path, PathBuf};

/// What is shown.
#[derive(clap::Args)]
pub struct TimelineArguments {
    /// A file written by an example's `--json`, or by `nsys export --type sqlite`
    file: PathBuf,
    /// How many gaps to list, the longest first
    #[arg(long, default_value_t = 5, value_name = "N")]
    gaps: usize,
    /// Show this part only
    #[arg(long)]
    part: Option<String>,
    /// Show this variant only
    #[arg(long)]
    variant: Option<String>,
    #[command(flatten)]
    stretch: stretch::Stretch,
    #[command(flatten)]
    drawings: draw::Drawings,
}

/// Explains the timeline that a program has left in a file: what the checkers found, and where the device's time went; then the
/// rest, with up to `gaps` gaps. Whether anything was found.
///
/// # Errors
/// When the file cannot be read, or the drawings cannot be written.
pub fn explain(file: &Path, gaps: usize, drawings: &draw::Drawings) -> Result<bool> {
    drawings.check_places(&[file])?;
    let contents = source::read(file)?;
    let written = drawings.draw(&[&contents])?;
    let mut found = false;
    for timeline in &contents.timelines {
        found |= !timeline.recording.findings.is_empty();
        wrap::print(analysis::summary(timeline), 2);
        wrap::print(analysis::text(timeline, gaps), 2);
    }
    for line in written {
        wrap::print(line, 2);
    }
    Ok(found)
}

/// Shows it.
pub fn run(arguments: &TimelineArguments) -> Result<Exit> {
    let read = |path: &Path| {
        let contents = source::read(path)?;
        let (part, variant) = (arguments.part.as_deref(), arguments.variant.as_deref());
        anyhow::Ok(contents.only(part, variant)?.cut(&arguments.stretch)?)
    };
    let beside = arguments.drawings.beside.as_deref();
    let inputs: Vec<&Path> = iter::once(arguments.file.as_path()).chain(beside).collect();
    arguments.drawings.check_places(&inputs)?;
    let contents = read(&arguments.file)?;
    let beside = arguments.drawings.beside.as_deref().map(read).transpose()?;
    if let Some(beside) = &beside
        && beside.subject != contents.subject
    {
        let (subject, other) = (&contents.subject, &beside.subject);
        let what = format!("--beside: the files are of different examples, {subject} and {other}");
        return Err(UsageError(what).into());
    }
    let files: Vec<&Contents> = iter::once(&contents).chain(&beside).collect();
    let written = arguments.drawings.draw(&files)?;
    for note in &contents.notes {
        wrap::print(note, 2);
    }
    for timeline in &contents.timelines {
        wrap::print(analysis::text(timeline, arguments.gaps), 2);
    }
    for line in written {
        wrap::print(line, 2);
    }
    Ok(Exit::LessonHolds)
}
