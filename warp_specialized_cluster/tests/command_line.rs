//! What the program says and how it ends, on a machine without a GPU.

use lesson_tests::{Lesson, code, text};

const LESSON: Lesson = Lesson {
    program: env!("CARGO_BIN_EXE_warp_specialized_cluster"),
    readme: include_str!("../README.md"),
};

#[test]
fn the_readme_shows_what_is_printed() {
    LESSON.readme_shows("tiles");
}

#[test]
fn every_run_is_checked_when_asked_to() {
    LESSON.every_run_is_right(&["--part", "tiles"]);
}

#[test]
fn requests_that_cannot_be_met_are_usage_errors() {
    LESSON.refuses(&[
        (&["--part", "nonsense"][..], "nonsense"),
        (&["--iterations", "0"], "0"),
        (&["--part", "tiles", "--size", "1MiB"], "--size"),
    ]);
}

#[test]
fn a_gpu_without_clusters_is_refused() {
    for (gpu, part) in [("t4", "tiles"), ("a100", "size"), ("rtx4090", "streams")] {
        let output = LESSON.run(&["--gpu", gpu, "--part", part]);
        assert_eq!(code(&output), Some(3));
        assert!(text(&output.stderr).contains("compute capability 9.0"));
    }
}

#[test]
fn raw_cluster_prints_what_the_readme_shows() {
    lesson_tests::raw_shows(env!("CARGO_BIN_EXE_raw_cluster"), include_str!("../README.md"));
}

#[test]
fn raw_cluster_names_what_an_older_gpu_lacks() {
    lesson_tests::raw_lacks(
        env!("CARGO_BIN_EXE_raw_cluster"),
        &[("SOFTWARE_GPU", "a100")],
        "compute capability 9.0",
    );
}
