//! `cargo lab grade`: submissions, each on its own, and the results, for people and for programs.

use crate::attempt::LabDevice;
use crate::catalogue::Lab;
use crate::grading::ledger::Ledger;
use crate::grading::pace::Pace;
use crate::grading::{Grade, Grading, similar};
use crate::submission::Submission;
use crate::{autograders, report};
use anyhow::{Context, Result, ensure};
use chapter_terminal::{Exit, UsageError, output};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The command line.
#[derive(clap::Args)]
pub struct GradeArguments {
    /// A folder or an archive (.zip, .tar, .tar.gz) for each student
    #[arg(required = true)]
    submissions: Vec<PathBuf>,
    /// Take each entry of the folders given as a submission
    #[arg(long)]
    each: bool,
    /// Grade these labs only
    #[arg(long, value_name = "LAB")]
    pub labs: Vec<String>,
    /// Where the results are written
    #[arg(long, value_name = "FOLDER", default_value = "grades")]
    out: PathBuf,
    /// Where the labs run
    #[arg(long, value_enum, default_value = "software")]
    pub device: LabDevice,
    /// How many submissions are graded at the same time; without it, one per core
    #[arg(long)]
    jobs: Option<usize>,
    /// Seconds that a program may run
    #[arg(long, value_name = "SECONDS", default_value = "20")]
    pub time: u64,
    /// Memory that a program may use, in MiB
    #[arg(long, value_name = "MIB", default_value = "4096")]
    pub memory: u64,
    /// Run submissions without confinement, where the system has none
    #[arg(long)]
    pub unconfined: bool,
    /// Grade again what has been graded: without it, equal submissions keep the grades that the folder of the results has
    #[arg(long)]
    anew: bool,
}

/// Grades submissions and writes the results: each student's when that student is done, and the tables after each.
///
/// # Errors
/// The tools fail; what a submission does is no error.
pub fn run(arguments: &GradeArguments) -> Result<Exit> {
    let start = Instant::now();
    let ledger = Ledger::open(&arguments.out)?;
    let grading = Grading::open(arguments)?;
    let submissions = submissions(arguments, &grading)?;
    let jobs = arguments.jobs.unwrap_or(0);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?;
    let done = Mutex::new((Pace::of(submissions.len()), Vec::new()));
    pool.install(|| {
        submissions.par_iter().try_for_each(|submission| {
            let digest = grading.digest(submission);
            let kept = ledger.kept(&submission.student, &digest);
            let kept = kept.filter(|grade| !arguments.anew && grade.failed.is_empty());
            let again = if kept.is_some() { ", as before" } else { "" };
            let grade = kept.unwrap_or_else(|| grading.grade(submission));
            if again.is_empty() {
                ledger.keep(&grade, digest)?;
            }
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            let (pace, grades) = &mut *done;
            output::line(format!("{} {}{again}", pace.count(), summary(&grade)));
            grades.push(grade);
            grades.sort_by(|a: &Grade, b| a.student.cmp(&b.student));
            write_tables(&ledger, &grading, grades)
        })
    })?;
    let (_, grades) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    write(&ledger, &grading, &grades)?;
    let similar = similar::csv(&similar::pairs(&submissions, &known(&grading)));
    ledger.write("similar.csv", &similar)?;
    output::line(format!(
        "{} submissions in {:.0} s; results in {}",
        grades.len(),
        start.elapsed().as_secs_f64(),
        arguments.out.display()
    ));
    let failed: usize = grades.iter().map(|grade| grade.failed.len()).sum();
    if failed > 0 {
        output::line(format!(
            "{failed} labs could not be graded, for the reasons in grades.html: run the command again to grade those submissions anew"
        ));
        return Ok(Exit::LessonFails);
    }
    Ok(Exit::LessonHolds)
}

/// A grade on one line.
fn summary(grade: &Grade) -> String {
    let (student, points, of) = (&grade.student, grade.points, grade.of);
    let line = format!("{student}: {points} of {of} points");
    match &grade.problem {
        Some(problem) => format!("{line}  {problem}"),
        None => line,
    }
}

/// Reads the submissions. Two of one name are numbered, so that neither's results replace the other's.
fn submissions(arguments: &GradeArguments, grading: &Grading) -> Result<Vec<Submission>> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut submissions = Vec::new();
    for path in paths(arguments)? {
        let mut submission = Submission::read(&path, &grading.catalogue);
        let count = seen
            .entry(report::file_name(&submission.student))
            .or_default();
        *count += 1;
        if *count > 1 {
            submission.student = format!("{} ({count})", submission.student);
        }
        submissions.push(submission);
    }
    Ok(submissions)
}

fn paths(arguments: &GradeArguments) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for path in &arguments.submissions {
        ensure!(
            path.exists(),
            UsageError(format!("there is no {}", path.display()))
        );
        if !arguments.each {
            paths.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).with_context(|| path.display().to_string())?;
        for entry in entries {
            let entry = entry?.path();
            let hidden = entry
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if !hidden {
                paths.push(entry);
            }
        }
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// The texts that a student's lines may come from, by lab.
fn known(grading: &Grading) -> BTreeMap<String, String> {
    let root = &grading.catalogue.root;
    let text = |lab: &Lab| {
        let texts = [lab.exercise(root), lab.solution(root)];
        let texts = texts.map(|path| fs::read_to_string(path).unwrap_or_default());
        (lab.name.clone(), texts.join("\n"))
    };
    grading.labs().map(text).collect()
}

/// Writes the class's tables.
fn write_tables(ledger: &Ledger, grading: &Grading, grades: &[Grade]) -> Result<()> {
    let labs: Vec<&Lab> = grading.labs().collect();
    ledger.write("grades.csv", &report::csv(&labs, grades))?;
    ledger.write("gradebook.csv", &report::gradebook(&labs, grades))
}

/// Writes what is read when all are graded: tables, the class's page, and for each student what autograders read.
fn write(ledger: &Ledger, grading: &Grading, grades: &[Grade]) -> Result<()> {
    write_tables(ledger, grading, grades)?;
    let labs: Vec<&Lab> = grading.labs().collect();
    ledger.write(
        "grades.json",
        &(serde_json::to_string_pretty(grades)? + "\n"),
    )?;
    ledger.write("grades.html", &report::page(&labs, grades))?;
    for grade in grades {
        let name = |name: &str| format!("{}/{name}", report::file_name(&grade.student));
        ledger.write(&name("results.json"), &autograders::gradescope(grade)?)?;
        ledger.write(&name("classroom.json"), &autograders::classroom(grade)?)?;
    }
    Ok(())
}
