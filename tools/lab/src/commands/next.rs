//! `cargo lab next`.

use crate::catalogue::{self, Catalogue, Lab};
use crate::goal::{Goal, counted};
use crate::progress::Progress;
use crate::show;
use anyhow::{Context, Result};
use chapter_terminal::{Exit, output, style};
use std::fs;
use std::path::Path;

/// The first lab that has not been passed.
pub fn first_open<'a>(catalogue: &'a Catalogue, progress: &Progress) -> Option<&'a Lab> {
    catalogue
        .labs
        .iter()
        .find(|lab| !progress.passed(&lab.name))
}

/// Shows the next lab: its task, its file, its goal.
///
/// # Errors
/// The files cannot be read.
pub fn run() -> Result<Exit> {
    let catalogue = Catalogue::read(&catalogue::root())?;
    match first_open(&catalogue, &Progress::read(&catalogue.root)) {
        Some(lab) => introduce(lab, &catalogue.root)?,
        None => output::line("You have passed all labs."),
    }
    Ok(Exit::LessonHolds)
}

/// Prints what a lab is about.
///
/// # Errors
/// Its files cannot be read.
pub fn introduce(lab: &Lab, root: &Path) -> Result<()> {
    let path = lab.exercise(root);
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    output::line(style::bold(format!(
        "{}: {} ({} points)",
        lab.name,
        lab.title,
        lab.points()
    )));
    let shown = path.strip_prefix(root).unwrap_or(&path);
    output::line(format!("{}, {}\n", shown.display(), lab.kind.word()));
    for line in text
        .lines()
        .take_while(|line| line.starts_with("//!") || line.starts_with('#'))
    {
        let line = line.trim_start_matches(['/', '!', '#']);
        if !line.trim_start().starts_with("```") {
            output::line(format!(" {line}").trim_end());
        }
    }
    if let Ok(goal) = Goal::read(lab, root) {
        let goal = counted(lab, &goal.recording);
        output::line(format!(
            "\n{}",
            show::timeline("the goal, modelled", &goal, goal.makespan().as_nanos())
        ));
        output::line(style::quiet(show::legend(&goal)));
    }
    output::line(format!(
        "\ncargo lab run {0} · cargo lab hint {0} · lesson: {1}",
        lab.name, lab.lesson
    ));
    Ok(())
}
