//! What the program says and how it ends, on a machine without a GPU.

use lesson_tests::{Lesson, code, text};

const LESSON: Lesson =
    Lesson { program: env!("CARGO_BIN_EXE_gemm_streams"), readme: include_str!("../README.md") };

#[test]
fn the_readme_shows_what_is_printed() {
    LESSON.readme_shows("streams");
}

#[test]
fn every_run_is_checked_when_asked_to() {
    LESSON.every_run_is_right(&["--part", "launches"]);
}

#[test]
fn requests_that_cannot_be_met_are_usage_errors() {
    LESSON.refuses(&[
        (&["--part", "nonsense"][..], "nonsense"),
        (&["--iterations", "0"], "0"),
        (&["--part", "streams", "--size", "1MiB"], "--size"),
    ]);
}

#[test]
fn a_gpu_without_the_tensor_core_instructions_is_refused() {
    for (gpu, part, lacks) in [
        ("t4", "streams", "compute capability 8.0"),
        ("t4", "launches", "compute capability 8.0"),
        ("a100", "warpgroups", "compute capability 9.0"),
    ] {
        let output = LESSON.run(&["--gpu", gpu, "--part", part]);
        assert_eq!(code(&output), Some(3));
        assert!(text(&output.stderr).contains(lacks));
    }
}

#[test]
fn raw_gemm_prints_what_the_readme_shows() {
    lesson_tests::raw_shows(env!("CARGO_BIN_EXE_raw_gemm"), include_str!("../README.md"));
}

#[test]
fn raw_gemm_names_what_an_older_gpu_lacks() {
    lesson_tests::raw_lacks(
        env!("CARGO_BIN_EXE_raw_gemm"),
        &[("SOFTWARE_GPU", "t4")],
        "compute capability 8.0",
    );
}
