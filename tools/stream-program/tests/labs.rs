//! The labs as programs: each solution passes, and each exercise misses what the lab says of it.

use lab::attempt::{Attempt, LabDevice, LabRun};
use lab::catalogue::{Catalogue, Lab, root};
use lab::goal::Goal;
use lab::judge::{Verdict, judge};
use lab::process::Ended;
use lab::record;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs in `labs/FOLDER`, by their labs.
fn programs(folder: &str) -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("labs")
        .join(folder);
    let files = fs::read_dir(folder).expect("a folder");
    let mut programs: Vec<(String, PathBuf)> = files
        .map(|file| file.expect("a file").path())
        .map(|path| {
            (
                path.file_stem()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned(),
                path,
            )
        })
        .collect();
    programs.sort();
    programs
}

/// Runs a program as a lab, as the playground does, and judges its recording.
fn verdict(lab: &Lab, program: &Path) -> (Verdict, Attempt) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("record.json");
    let done = Command::new(env!("CARGO_BIN_EXE_stream_program"))
        .arg("run")
        .arg(program)
        .env("CUDA_DRIVER", "software")
        .env("SOFTWARE_GPU", "h200")
        .env("SOFTWARE_GPU_RACES", "report")
        .env("CUDA_MODULE_LOADING", "EAGER")
        .env("LAB", &lab.name)
        .env("LAB_RECORD", &file)
        .output()
        .expect("a run");
    let attempt = Attempt::Ran(Box::new(LabRun {
        ended: Ended::Exit(done.status.code().unwrap_or(-1)),
        stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
        record: record::read(&file).transpose().expect("a valid record"),
        refused: None,
        without_cupti: Vec::new(),
        warnings: String::new(),
    }));
    let goal = Goal::read(lab, &root()).expect("a goal");
    (
        judge(lab, Some(&goal), LabDevice::Software, &attempt),
        attempt,
    )
}

/// What the judge says of each program in a folder, where that is not what `expected` says.
fn differences(folder: &str, expected: fn(&Lab) -> Vec<&str>) -> Vec<String> {
    let catalogue = Catalogue::read(&root()).expect("the labs");
    let mut wrong = Vec::new();
    for (name, path) in programs(folder) {
        let lab = catalogue.find(&name).expect("a lab");
        let (verdict, attempt) = verdict(lab, &path);
        let mut missed: Vec<&str> = verdict
            .criteria
            .iter()
            .filter(|own| !own.mark.is_met())
            .map(|own| own.id.as_str())
            .collect();
        let blocked = |id: &&str| {
            verdict
                .criteria
                .iter()
                .any(|own| own.id == **id && matches!(own.mark, lab::judge::Mark::Blocked(_)))
        };
        missed.retain(|id| expected(lab).contains(id) || !blocked(id));
        let wanted = expected(lab);
        if missed.iter().any(|id| !wanted.contains(id))
            || wanted.iter().any(|id| !missed.contains(id))
        {
            wrong.push(format!(
                "{name}: missed {missed:?}, not {wanted:?}: {verdict:#?} {attempt:#?}"
            ));
        }
    }
    wrong
}

#[test]
fn each_solution_passes() {
    let wrong = differences("solutions", |_| Vec::new());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_exercise_misses_what_its_lab_says() {
    let wrong = differences("exercises", |lab| {
        lab.fails.iter().map(String::as_str).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_exercise_has_a_solution_and_there_are_twelve() {
    let names = |folder| {
        programs(folder)
            .into_iter()
            .map(|(name, _)| name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names("exercises"), names("solutions"));
    assert!(names("exercises").len() >= 12);
}

#[test]
fn a_report_names_the_lines_of_the_program() {
    let catalogue = Catalogue::read(&root()).expect("the labs");
    let lab = catalogue.find("05_missing_event").expect("a lab");
    let (name, path) = programs("exercises")
        .into_iter()
        .find(|(name, _)| *name == lab.name)
        .expect("a program");
    let text = fs::read_to_string(&path).expect("a text");
    let line = text
        .lines()
        .position(|line| line.starts_with("affine_rounds_x4"))
        .expect("a launch")
        + 1;
    let (_, attempt) = verdict(lab, &path);
    let Attempt::Ran(run) = attempt else {
        panic!("{name} did not run")
    };
    let reports = run.record.expect("a record").reports.join("\n");
    assert!(reports.contains(&format!("program:{line}")), "{reports}");
    assert!(!reports.contains(".rs:"), "{reports}");
}
