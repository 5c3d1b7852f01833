//! `cargo lab hint`.

use crate::catalogue::{self, Catalogue, Lab};
use crate::progress::Progress;
use anyhow::Result;
use chapter_terminal::{Exit, output, wrap};

/// The command line.
#[derive(clap::Args)]
pub struct HintArguments {
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
pub fn run(arguments: &HintArguments) -> Result<Exit> {
    let catalogue = Catalogue::read(&catalogue::root())?;
    let progress = Progress::read(&catalogue.root);
    let lab = match &arguments.lab {
        Some(word) => Some(catalogue.find(word)?),
        None => super::next::first_open(&catalogue, &progress),
    };
    match lab {
        Some(lab) => show_to(&catalogue, lab, arguments.level)?,
        None => output::line("You have passed all labs."),
    }
    Ok(Exit::LessonHolds)
}

/// Shows one hint more than before.
///
/// # Errors
/// The progress cannot be written.
pub fn show(catalogue: &Catalogue, lab: &Lab) -> Result<()> {
    show_to(catalogue, lab, None)
}

fn show_to(catalogue: &Catalogue, lab: &Lab, level: Option<usize>) -> Result<()> {
    let mut progress = Progress::read(&catalogue.root);
    let shown = progress.hints.entry(lab.name.clone()).or_default();
    let level = level.unwrap_or(*shown + 1).clamp(1, lab.hints.len().max(1));
    *shown = (*shown).max(level);
    for (number, hint) in (1..).zip(lab.hints.iter().take(level)) {
        wrap::print(format!("{number}/{} {}", lab.hints.len(), hint.trim()), 4);
    }
    progress.write(&catalogue.root)
}
