//! What the program says and how it ends, on a machine without a GPU.

use lesson_tests::Lesson;

const LESSON: Lesson =
    Lesson { program: env!("CARGO_BIN_EXE_vlm_pipeline"), readme: include_str!("../README.md") };

#[test]
fn the_readme_shows_what_is_printed() {
    LESSON.readme_shows("images");
}

#[test]
fn requests_that_cannot_be_met_are_usage_errors() {
    LESSON.refuses(&[
        (&["--part", "nonsense"][..], "nonsense"),
        (&["--iterations", "0"], "0"),
        (&["--part", "images", "--size", "1MiB"], "--size"),
    ]);
}

#[test]
fn raw_vision_prints_what_the_readme_shows() {
    lesson_tests::raw_shows(env!("CARGO_BIN_EXE_raw_vision"), include_str!("../README.md"));
}
