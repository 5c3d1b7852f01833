//! What the program says and how it ends, on a machine without a GPU.

use lesson_tests::Lesson;

const LESSON: Lesson =
    Lesson { program: env!("CARGO_BIN_EXE_data_loader"), readme: include_str!("../README.md") };

#[test]
fn the_readme_shows_what_is_printed() {
    LESSON.readme_shows("depth");
}

#[test]
fn every_run_is_checked_when_asked_to() {
    LESSON.every_run_is_right(&["--iterations", "2", "--part", "jitter"]);
}

#[test]
fn requests_that_cannot_be_met_are_usage_errors() {
    LESSON.refuses(&[
        (&["--part", "nonsense"][..], "nonsense"),
        (&["--iterations", "0"], "0"),
        (&["--size", "1MiB"], "--size"),
        (&["--part", "threads", "--streams", "2"], "--streams"),
    ]);
}

#[test]
fn raw_loader_prints_what_the_readme_shows() {
    lesson_tests::raw_shows(env!("CARGO_BIN_EXE_raw_loader"), include_str!("../README.md"));
}
