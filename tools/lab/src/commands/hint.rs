//! `cargo lab hint`.

use crate::catalogue::{self, Catalogue};
use crate::progress::Progress;
use anyhow::Result;
use chapter_terminal::{Exit, output, wrap};

/// The command line.
#[derive(clap::Args)]
pub struct Arguments {
    /// The lab: its number or name; without it, the first that you have not passed
    lab: Option<String>,
    /// Show the hints up to this level
    #[arg(long)]
    level: Option<usize>,
}

/// Shows the hints that were shown before, and one more.
///
/// # Errors
/// The catalogue cannot be read, or there is no such lab.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let catalogue = Catalogue::read(&catalogue::root())?;
    let mut progress = Progress::read(&catalogue.root);
    let lab = match &arguments.lab {
        Some(word) => Some(catalogue.find(word)?),
        None => super::next::first_open(&catalogue, &progress),
    };
    let Some(lab) = lab else {
        output::line("You have passed all labs.");
        return Ok(Exit::LessonHolds);
    };
    let shown = progress.hints.entry(lab.name.clone()).or_default();
    let level = arguments
        .level
        .unwrap_or(*shown + 1)
        .clamp(1, lab.hints.len().max(1));
    *shown = (*shown).max(level);
    for (number, hint) in (1..).zip(lab.hints.iter().take(level)) {
        wrap::print(format!("{number}/{} {}", lab.hints.len(), hint.trim()), 4);
    }
    progress.write(&catalogue.root)?;
    Ok(Exit::LessonHolds)
}
