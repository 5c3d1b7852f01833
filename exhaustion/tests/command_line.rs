//! What the program says and how it ends, on a machine without a GPU.

use lesson_tests::{Lesson, code};

const LESSON: Lesson =
    Lesson { program: env!("CARGO_BIN_EXE_exhaustion"), readme: include_str!("../README.md") };

#[test]
fn the_readme_shows_what_is_printed() {
    LESSON.readme_shows("occupancy");
}

#[test]
fn every_run_is_checked_when_asked_to() {
    LESSON.every_run_is_right(&["--part", "occupancy"]);
}

#[test]
fn requests_that_cannot_be_met_are_usage_errors() {
    LESSON.refuses(&[
        (&["--part", "nonsense"][..], "nonsense"),
        (&["--iterations", "0"], "0"),
        (&["--size", "1MiB"], "--size"),
        (&["--part", "requests", "--iterations", "2"], "--iterations: part requests"),
    ]);
}

#[test]
fn other_gpus_have_other_limits_and_the_predictions_follow() {
    for gpu in ["t4", "rtx4090"] {
        let output = LESSON.run(&["--gpu", gpu, "--part", "occupancy"]);
        assert_eq!(code(&output), Some(0), "{gpu}");
    }
}

#[test]
fn raw_exhaustion_prints_what_the_readme_shows_and_its_refused_calls_are_explained() {
    let output = lesson_tests::run_raw(env!("CARGO_BIN_EXE_raw_exhaustion"), &[]);
    assert_eq!(code(&output), Some(0));
    let printed = lesson_tests::text(&output.stdout);
    assert!(!printed.is_empty() && include_str!("../README.md").contains(&printed));
    let explained = lesson_tests::text(&output.stderr);
    let calls: Vec<&str> =
        explained.lines().filter(|line| line.starts_with("software GPU: ")).collect();
    let [memory, launch] = calls[..] else { panic!("two calls are refused: {explained}") };
    assert!(memory.contains("cuMemAlloc") && memory.contains("CUDA_ERROR_OUT_OF_MEMORY"));
    assert!(launch.contains("a block of [2048, 1, 1] threads"), "{launch}");
}
