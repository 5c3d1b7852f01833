//! `cargo lab next`.

use crate::catalogue::{self, Catalogue, Kind, Lab};
use crate::goal::{Goal, counted};
use crate::progress::Progress;
use crate::show;
use anyhow::{Context, Result};
use chapter_terminal::{Exit, output, style, wrap};
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
    let (name, points) = (&lab.name, lab.points());
    output::line(style::bold(format!(
        "{name}: {} ({points} points)",
        lab.title
    )));
    let shown = path.strip_prefix(root).unwrap_or(&path);
    output::line(format!("{}, {}\n", shown.display(), lab.kind.word()));
    output::line(wrap::indented(1, &task(lab, &text)));
    if let Ok(goal) = Goal::read(lab, root) {
        let goal = counted(lab, &goal.recording);
        let title = match lab.kind {
            Kind::Explain => "the run, modelled",
            _ => "the goal, modelled",
        };
        let chart = show::timeline(title, &goal, goal.makespan().as_nanos());
        output::line(format!("\n{chart}"));
        output::line(style::quiet(show::legend(&goal)));
        if lab.kind == Kind::Explain {
            output::line(format!("\n{}", show::operations(&goal).trim_end()));
        }
    }
    let lesson = match has_lesson(lab, root) {
        true => format!(" · lesson: {}", lab.lesson),
        false => String::new(),
    };
    let next = format!("cargo lab run {name} · cargo lab hint {name}{lesson}");
    output::line("");
    wrap::print(next, 2);
    Ok(())
}

/// Whether the lesson is here: a handout has only a few of them.
fn has_lesson(lab: &Lab, root: &Path) -> bool {
    match lab.lesson.contains("cargo chapter") {
        true => root.join("tools/chapter").exists(),
        false => root.join(&lab.lesson).exists(),
    }
}

/// The task: the comment at the top of the file.
fn task(lab: &Lab, text: &str) -> String {
    let of_task = |line: &&str| lab.kind == Kind::Explain || line.starts_with("//!");
    let lines = text.lines().take_while(of_task);
    let lines = lines.map(|line| {
        let own = line.strip_prefix("//!").unwrap_or(line);
        own.strip_prefix(' ').unwrap_or(own)
    });
    let shown = lines.filter(|line| !line.trim_start().starts_with("```"));
    shown.collect::<Vec<_>>().join("\n")
}
