//! What the program says and how it ends, on a machine without a GPU.

use lesson_tests::{Lesson, code, text};

const LESSON: Lesson = Lesson {
    program: env!("CARGO_BIN_EXE_persistent_kernel"),
    readme: include_str!("../README.md"),
};

#[test]
fn the_readme_shows_what_is_printed() {
    LESSON.readme_shows("steps");
}

#[test]
fn every_run_is_checked_when_asked_to() {
    LESSON.every_run_is_right(&["--part", "residency"]);
}

#[test]
fn requests_that_cannot_be_met_are_usage_errors() {
    LESSON.refuses(&[
        (&["--part", "nonsense"][..], "nonsense"),
        (&["--iterations", "0"], "0"),
        (&["--size", "1MiB"], "--size"),
        (&["--part", "residency", "--iterations", "2"], "--iterations: part residency"),
    ]);
}

#[test]
fn a_gpu_without_dependent_launches_is_refused() {
    let output = LESSON.run(&["--gpu", "a100", "--part", "steps"]);
    assert_eq!(code(&output), Some(3));
    assert!(text(&output.stderr).contains("compute capability 9.0"));
    let output = LESSON.run(&["--gpu", "t4", "--part", "residency"]);
    assert_eq!(code(&output), Some(0));
}

#[test]
fn raw_steps_prints_what_the_readme_shows() {
    lesson_tests::raw_shows(env!("CARGO_BIN_EXE_raw_steps"), include_str!("../README.md"));
}

#[test]
fn raw_queue_prints_what_the_readme_shows() {
    lesson_tests::raw_shows(env!("CARGO_BIN_EXE_raw_queue"), include_str!("../README.md"));
}
