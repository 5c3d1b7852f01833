//! `cargo lab reset`.

use crate::catalogue::{self, Catalogue};
use crate::originals;
use anyhow::{Context, Result};
use chapter_terminal::{Exit, output};
use std::fs;

/// The command line.
#[derive(clap::Args)]
pub struct ResetArguments {
    /// The lab: its number or name
    lab: String,
}

/// Puts the starting state back. What was there is kept beside it.
///
/// # Errors
/// A file cannot be read or written.
pub fn run(arguments: &ResetArguments) -> Result<Exit> {
    let catalogue = Catalogue::read(&catalogue::root())?;
    let lab = catalogue.find(&arguments.lab)?;
    let original = originals::read(&catalogue.root, lab)?;
    let path = lab.exercise(&catalogue.root);
    let kept = path.with_extension("before-reset");
    let wrote = |path: &std::path::Path| format!("cannot write {}", path.display());
    if fs::read_to_string(&path).is_ok_and(|text| text == original) {
        output::line(format!("{} is in its starting state.", lab.name));
        return Ok(Exit::LessonHolds);
    }
    if path.exists() {
        fs::copy(&path, &kept).with_context(|| wrote(&kept))?;
    }
    fs::write(&path, original).with_context(|| wrote(&path))?;
    let shown = kept.strip_prefix(&catalogue.root).unwrap_or(&kept);
    output::line(format!(
        "{} is in its starting state; your text is kept in {}.",
        lab.name,
        shown.display()
    ));
    Ok(Exit::LessonHolds)
}
