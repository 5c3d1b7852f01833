//! What the program says and how it ends, on a machine without a GPU.

use lesson_tests::{Lesson, code};

const LESSON: Lesson =
    Lesson { program: env!("CARGO_BIN_EXE_stream_priority"), readme: include_str!("../README.md") };

#[test]
fn the_readme_shows_what_is_printed() {
    LESSON.readme_shows("urgent");
}

#[test]
fn every_run_is_checked_when_asked_to() {
    LESSON.every_run_is_right(&["--iterations", "2", "--part", "copies"]);
}

#[test]
fn requests_that_cannot_be_met_are_usage_errors() {
    LESSON.refuses(&[
        (&["--part", "nonsense"][..], "nonsense"),
        (&["--iterations", "0"], "0"),
        (&["--size", "1MiB"], "--size"),
    ]);
}

#[test]
fn a_gpu_with_other_multiprocessors_is_filled_as_well() {
    let output = LESSON.run(&["--gpu", "t4", "--part", "urgent"]);
    assert_eq!(code(&output), Some(0));
}

#[test]
fn raw_priority_prints_what_the_readme_shows() {
    lesson_tests::raw_shows(env!("CARGO_BIN_EXE_raw_priority"), include_str!("../README.md"));
}
