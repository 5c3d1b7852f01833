//! `cargo lab verify`: each exercise fails as stated, each solution passes with full points.

use super::session::Session;
use crate::attempt::{Attempt, LabDevice};
use crate::catalogue::{Kind, Lab};
use crate::goal::Goal;
use crate::mistakes;
use crate::show;
use anyhow::{Context, Result, ensure};
use chapter_terminal::{Exit, UsageError, output, style};
use std::fs;
use std::path::PathBuf;

/// The command line.
#[derive(clap::Args)]
pub struct VerifyArguments {
    /// The labs; without any, all of them
    labs: Vec<String>,
    /// Where they run
    #[arg(long, value_enum, default_value = "software")]
    device: LabDevice,
    /// Write the goals anew from the solutions
    #[arg(long)]
    update_goals: bool,
    /// Leave out the wrong solutions
    #[arg(long)]
    without_mistakes: bool,
    /// Only compile all exercises and solutions into this folder, for a machine without compilers
    #[arg(long, value_name = "FOLDER", conflicts_with = "programs")]
    compile_to: Option<PathBuf>,
    /// Run the programs of this folder instead of compiling any
    #[arg(long, value_name = "FOLDER", requires = "without_mistakes")]
    programs: Option<PathBuf>,
}

/// Verifies labs, a line each.
///
/// # Errors
/// The tools fail, and not a lab.
pub fn run(arguments: &VerifyArguments) -> Result<Exit> {
    let session = match &arguments.programs {
        Some(programs) => Session::with_programs(arguments.device, programs)?,
        None => Session::open(arguments.device)?,
    };
    if let Some(programs) = &arguments.compile_to {
        session.compile_all(programs)?;
        return Ok(Exit::LessonHolds);
    }
    ensure!(
        session.root().join("labs/solutions").exists() || arguments.programs.is_some(),
        UsageError("this copy of the labs has no solutions that could be verified".to_owned())
    );
    let mut labs: Vec<&Lab> = Vec::new();
    for word in &arguments.labs {
        labs.push(session.catalogue.find(word)?);
    }
    if labs.is_empty() {
        labs = session.catalogue.labs.iter().collect();
    }
    let (mut wrong, mut away) = (0, 0);
    for lab in &labs {
        let Some(found) = verify(&session, lab, arguments.update_goals)? else {
            away += 1;
            continue;
        };
        let points = lab.points();
        match &found[..] {
            [] => output::line(format!(
                "{} {}  {points} points",
                style::good("+"),
                lab.name
            )),
            problems => {
                wrong += 1;
                output::line(format!("{} {}  {points} points", style::bad("-"), lab.name));
                problems
                    .iter()
                    .for_each(|problem| output::line(format!("    {problem}")));
            }
        }
    }
    let all = labs.len() - away;
    output::line(format!(
        "{} of {all} labs: the exercise fails as stated and the solution has full points",
        all - wrong
    ));
    if !arguments.without_mistakes && arguments.device == LabDevice::Software {
        wrong += mistakes(&session, &labs)?;
    }
    Ok(if wrong == 0 {
        Exit::LessonHolds
    } else {
        Exit::LessonFails
    })
}

/// Grades the wrong solutions, a line each, and returns how many are not graded as declared.
fn mistakes(session: &Session, labs: &[&Lab]) -> Result<usize> {
    let (mut all, mut wrong) = (0, 0);
    for mistake in mistakes::read(&session.catalogue)? {
        let Some(lab) = labs.iter().find(|lab| lab.name == mistake.lab) else {
            continue;
        };
        all += 1;
        let file = session.scratch(&format!("{}.{}", mistake.name, lab.file()));
        fs::write(&file, mistake.text(lab, session.root())?)?;
        let attempt = session.attempt_briefly(lab, &file)?;
        let (goal, verdict) = session.judge(lab, &attempt);
        let right = verdict.missed() == mistake.missed;
        let sign = if right {
            style::good("+")
        } else {
            style::bad("-")
        };
        let (points, of) = (verdict.points(), verdict.of());
        let missed = verdict.missed().join(", ");
        output::line(format!(
            "{sign} {:20} {points:2}/{of:<2}  {}: {missed}",
            lab.name, mistake.what
        ));
        if !right {
            wrong += 1;
            output::line(format!(
                "    misses {missed}, not {}",
                mistake.missed.join(", ")
            ));
            output::line(show::verdict(lab, goal.as_ref(), &attempt, &verdict));
        }
    }
    output::line(format!(
        "{} of {all} wrong solutions miss what they should",
        all - wrong
    ));
    Ok(wrong)
}

/// What is wrong with a lab; `None` when this machine has fewer GPUs than it needs.
fn verify(session: &Session, lab: &Lab, update: bool) -> Result<Option<Vec<String>>> {
    let mut problems = Vec::new();
    let solution = session.attempt(lab, &lab.solution(session.root()))?;
    if session.device == LabDevice::Software {
        problems.extend(match lab.kind {
            // The goal of an export is not a program's: a test of chapter-nsight compares it.
            Kind::Explain if !lab.host(session.root()).exists() => None,
            Kind::Explain => goal(session, lab, &session.explained(lab)?, update)?,
            _ => goal(session, lab, &solution, update)?,
        });
    }
    let (reached, verdict) = session.judge(lab, &solution);
    if let Attempt::Lacks(what) = &solution {
        if lab.gpus > 1 && session.device == LabDevice::Nvidia {
            output::line(format!(
                "{} {}  not available here: {what}",
                style::quiet("."),
                lab.name
            ));
            return Ok(None);
        }
        problems.push(format!("not verified: {what}"));
        return Ok(Some(problems));
    }
    if !verdict.passed() {
        let text = show::verdict(lab, reached.as_ref(), &solution, &verdict);
        problems.push(format!("the solution does not pass:\n{text}"));
    }
    warned(&solution, "the solution", &mut problems);

    let start = session.attempt(lab, &lab.exercise(session.root()))?;
    let (reached, verdict) = session.judge(lab, &start);
    let mut stated: Vec<&str> = lab.fails.iter().map(String::as_str).collect();
    let mut missed = verdict.missed();
    if session.device == LabDevice::Nvidia {
        // No checker, and luck: what fails on the model may pass on a GPU, but not the other way round.
        missed.retain(|id| !stated.contains(id));
        stated.clear();
    }
    if missed != stated {
        let text = show::verdict(lab, reached.as_ref(), &start, &verdict);
        problems.push(format!(
            "the exercise fails with {missed:?} and not with {stated:?}:\n{text}"
        ));
    }
    warned(&start, "the exercise", &mut problems);
    Ok(Some(problems))
}

fn warned(attempt: &Attempt, what: &str, problems: &mut Vec<String>) {
    if let Attempt::Ran(run) = attempt
        && !run.warnings.trim().is_empty()
    {
        problems.push(format!("the compiler warns of {what}:\n{}", run.warnings));
    }
}

/// Writes the goal, or compares it.
fn goal(session: &Session, lab: &Lab, solution: &Attempt, update: bool) -> Result<Option<String>> {
    let Attempt::Ran(run) = solution else {
        return Ok(None);
    };
    let Some(record) = &run.record else {
        return Ok(None);
    };
    let (goal, path) = (Goal::of(record), lab.goal(session.root()));
    if update {
        fs::write(&path, goal.text())
            .with_context(|| format!("cannot write {}", path.display()))?;
        return Ok(None);
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    Ok((kept != goal.text()).then(|| {
        format!(
            "{} is not what the solution does; write it with `cargo lab verify {} --update-goals`",
            path.display(),
            lab.name
        )
    }))
}
