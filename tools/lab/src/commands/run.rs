//! `cargo lab run`.

use super::session::Session;
use crate::attempt::{Attempt, LabDevice};
use crate::catalogue::Lab;
use crate::judge::Verdict;
use crate::progress::Progress;
use crate::show;
use anyhow::Result;
use chapter_terminal::{Exit, output};
use std::path::PathBuf;

/// The command line.
#[derive(clap::Args)]
pub struct RunArguments {
    /// The lab: its number or name; without it, the first that you have not passed
    pub lab: Option<String>,
    /// Where it runs
    #[arg(long, value_enum, default_value = "software")]
    pub device: LabDevice,
    /// Run the solution instead of the exercise
    #[arg(long)]
    pub solution: bool,
    /// Run this file instead of the exercise
    #[arg(long, value_name = "FILE", conflicts_with = "solution")]
    pub file: Option<PathBuf>,
    /// Print the verdict as JSON
    #[arg(long)]
    pub json: bool,
}

/// Tries one lab and shows the verdict.
///
/// # Errors
/// The tools fail, and not the lab.
pub fn run(arguments: &RunArguments) -> Result<Exit> {
    let session = Session::open(arguments.device)?;
    let mut progress = Progress::read(session.root());
    let lab = match &arguments.lab {
        Some(word) => session.catalogue.find(word)?,
        None => match super::next::first_open(&session.catalogue, &progress) {
            Some(lab) => lab,
            None => {
                output::line("You have passed all labs.");
                return Ok(Exit::LessonHolds);
            }
        },
    };
    let own = arguments.file.is_none() && !arguments.solution;
    let source = match &arguments.file {
        Some(file) => file.canonicalize()?,
        None if arguments.solution => lab.solution(session.root()),
        None => lab.exercise(session.root()),
    };
    let attempt = session.attempt(lab, &source)?;
    let (goal, verdict) = session.judge(lab, &attempt);
    if arguments.json {
        output::line(serde_json::to_string_pretty(&verdict)?);
    } else {
        output::line(show::verdict(lab, goal.as_ref(), &attempt, &verdict));
    }
    if own {
        note(&mut progress, lab, &verdict);
        progress.write(session.root())?;
    }
    Ok(exit(&attempt, &verdict))
}

/// Notes what was reached.
pub fn note(progress: &mut Progress, lab: &Lab, verdict: &Verdict) {
    if verdict.of() > 0 {
        progress.reached(&lab.name, verdict.points(), verdict.of());
    }
}

fn exit(attempt: &Attempt, verdict: &Verdict) -> Exit {
    match attempt {
        Attempt::Lacks(_) => Exit::DeviceLacks,
        _ if verdict.passed() => Exit::LessonHolds,
        _ => Exit::LessonFails,
    }
}
