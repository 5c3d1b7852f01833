//! What the program says and how it ends, on a machine without a GPU.

use lesson_tests::{Lesson, code, text};

const LESSON: Lesson = Lesson {
    program: env!("CARGO_BIN_EXE_stream_ordered_kv_cache"),
    readme: include_str!("../README.md"),
};

#[test]
fn other_parameters_are_measured_and_right() {
    for arguments in [
        &["--part", "append", "--size", "16MiB", "--chunks", "8"][..],
        &["--part", "prefetch", "--chunks", "1"],
        &["--size", "1MiB"],
    ] {
        let output = LESSON.run(arguments);
        assert_eq!(code(&output), Some(0), "{arguments:?}");
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn the_hosts_waits_are_shown_by_name() {
    let output = LESSON.run(&["--part", "append", "--size", "1MiB"]);
    let said = text(&output.stdout);
    for stream in ["append", "attention"] {
        let wait = format!("cuStreamSynchronize({stream})");
        assert!(said.contains(&wait), "{wait} is missing: {said}");
    }
}

#[test]
fn every_run_is_checked_when_asked_to() {
    LESSON.every_run_is_right(&["--iterations", "2", "--size", "512KiB"]);
}

#[test]
fn the_readme_shows_what_is_printed() {
    LESSON.readme_shows_wide_output("append");
}

#[test]
fn requests_that_cannot_be_met_are_usage_errors() {
    LESSON.refuses(&[
        (&["--part", "nonsense"][..], "nonsense"),
        (&["--part", "append", "--size", "4"], "--size 4 B"),
        (&["--part", "append", "--size", "1MiB", "--chunks", "33"], "33"),
        (&["--part", "prefetch", "--size", "31KiB"], "--size 31 KiB"),
        (&["--part", "prefetch", "--size", "1024GiB"], "--size 1024 GiB"),
        (&["--part", "growth", "--iterations", "2"], "--iterations: part growth"),
        (&["--part", "append", "--chunks", "48"], "64 tokens are 32 or 64, not 48"),
        (&["--chunks", "0"], "0"),
        (&["--iterations", "0"], "0"),
    ]);
}

#[test]
fn raw_kv_prints_what_the_readme_shows() {
    lesson_tests::raw_shows(env!("CARGO_BIN_EXE_raw_kv"), include_str!("../README.md"));
}
