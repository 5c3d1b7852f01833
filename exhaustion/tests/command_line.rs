//! What the program says and how it ends, on a machine without a GPU.

use std::process::{Command, Output};

const PARTS: [&str; 3] = ["occupancy", "grids", "requests"];

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_exhaustion"))
        .args(["--device", "software"])
        .args(arguments)
        .env_remove("COLUMNS")
        .env_remove("CUDA_DRIVER")
        .env_remove("SOFTWARE_GPU")
        .env_remove("SOFTWARE_GPU_RACES")
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// The exit code, and both outputs for a failed assertion.
fn code(output: &Output) -> Option<i32> {
    println!("{}\n{}", text(&output.stdout), text(&output.stderr));
    output.status.code()
}

#[test]
fn every_part_holds_without_a_race_and_prints_the_same_twice() {
    let output = run(&["--races", "fail"]);
    assert_eq!(code(&output), Some(0));
    assert_eq!(text(&output.stderr), "");
    let said = text(&output.stdout);
    for part in PARTS {
        assert!(said.contains(&format!("\n{part}: ")), "{part} did not run");
    }
    assert!(said.lines().all(|line| line.chars().count() <= 80), "a line is longer than 80");
    assert_eq!(text(&run(&["--races", "fail"]).stdout), said);
}

#[test]
fn the_readme_shows_what_is_printed() {
    let output = run(&["--part", "occupancy"]);
    assert_eq!(code(&output), Some(0));
    assert!(
        include_str!("../README.md").contains(&text(&output.stdout)),
        "README.md shows another output: put the one above into it"
    );
}

#[test]
fn every_run_is_checked_when_asked_to() {
    let output = run(&["--validate", "--part", "occupancy"]);
    assert_eq!(code(&output), Some(0));
    assert!(!text(&output.stdout).contains("are wrong"));
}

#[test]
fn requests_that_cannot_be_met_are_usage_errors() {
    for (arguments, named) in [
        (&["--part", "nonsense"][..], "nonsense"),
        (&["--iterations", "0"], "0"),
        (&["--size", "1MiB"], "--size"),
        (&["--part", "requests", "--iterations", "2"], "--iterations: part requests"),
    ] {
        let output = run(arguments);
        assert_eq!(code(&output), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(named), "{arguments:?}");
    }
}

#[test]
fn other_gpus_have_other_limits_and_the_predictions_follow() {
    for gpu in ["t4", "rtx4090"] {
        let output = run(&["--gpu", gpu, "--part", "occupancy"]);
        assert_eq!(code(&output), Some(0), "{gpu}");
    }
}
