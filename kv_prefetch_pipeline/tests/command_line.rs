//! What the program says and how it ends, on a machine without a GPU.

use lesson_tests::{Lesson, code, text};

const LESSON: Lesson = Lesson {
    program: env!("CARGO_BIN_EXE_kv_prefetch_pipeline"),
    readme: include_str!("../README.md"),
};

#[test]
fn the_readme_shows_what_is_printed() {
    LESSON.readme_shows("stages");
}

#[test]
fn every_run_is_checked_when_asked_to() {
    LESSON.every_run_is_right(&["--part", "stages"]);
}

#[test]
fn requests_that_cannot_be_met_are_usage_errors() {
    LESSON.refuses(&[
        (&["--part", "nonsense"][..], "nonsense"),
        (&["--iterations", "0"], "0"),
        (&["--part", "stages", "--size", "1MiB"], "--size"),
        (&["--part", "in-flight", "--iterations", "2"], "--iterations: part in-flight"),
    ]);
}

#[test]
fn a_gpu_without_bulk_copies_is_refused() {
    for gpu in ["t4", "a100"] {
        let output = LESSON.run(&["--gpu", gpu]);
        assert_eq!(code(&output), Some(3));
        assert!(text(&output.stderr).contains("compute capability 9.0"));
    }
}

#[test]
fn raw_prefetch_prints_what_the_readme_shows() {
    lesson_tests::raw_shows(env!("CARGO_BIN_EXE_raw_prefetch"), include_str!("../README.md"));
}

#[test]
fn raw_prefetch_names_what_an_older_gpu_lacks() {
    lesson_tests::raw_lacks(
        env!("CARGO_BIN_EXE_raw_prefetch"),
        &[("SOFTWARE_GPU", "a100")],
        "compute capability 9.0",
    );
}
