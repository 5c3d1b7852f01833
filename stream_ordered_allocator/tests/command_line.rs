//! What the program says and how it ends, on a machine without a GPU.

use lesson_tests::Lesson;
use std::process::{Command, Output};

const LESSON: Lesson = Lesson {
    program: env!("CARGO_BIN_EXE_stream_ordered_allocator"),
    readme: include_str!("../README.md"),
};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stream_ordered_allocator"));
    command
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .env_remove("COLUMNS")
        .env_remove("CUDA_DRIVER")
        .env_remove("SOFTWARE_GPU")
        .env_remove("SOFTWARE_GPU_RACES");
    command
}

fn run(arguments: &[&str]) -> Output {
    program(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// What the software GPU's run printed. Fails unless the exit code is `code`.
fn said(arguments: &[&str], code: i32) -> String {
    let output = run(&[&["--device", "software"], arguments].concat());
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    out
}

#[test]
fn both_ways_to_free_are_right_and_reported_by_no_checker() {
    let lifetime = said(&["--part", "lifetime", "--races", "fail", "--verbose"], 0);
    for words in [
        "an event: every element is right",
        "an event: the checkers are silent",
        "freed by the reader: every element is right",
        "freed by the reader: the checkers are silent",
        "the freed memory",
        "other memory",
    ] {
        assert!(lifetime.contains(words), "`{words}` is missing: {lifetime}");
    }
}

#[test]
fn a_pool_that_does_not_pay_is_reported() {
    let cost = said(&["--part", "cost", "--size", "1MiB"], 0);
    // Lines are wrapped.
    let cost = cost.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = "a pool saves less than half of the calls' cost at no size";
    assert!(cost.contains(words), "`{words}` is missing: {cost}");
    assert!(!cost.contains("16 MiB, "), "larger than asked for: {cost}");
    assert!(cost.contains("Not judged: "), "{cost}");
    let touched = "each step works in the first 4 KiB of its memory";
    assert!(cost.contains(touched), "{cost}");
    let larger = said(&["--part", "cost", "--size", "17MiB", "--verbose"], 0);
    assert!(!larger.contains("Not judged: "), "{larger}");
    let words = "ok      16 MiB: the pool removes the cost of cuMemAlloc";
    assert!(larger.contains(words), "`{words}` is missing: {larger}");
}

#[test]
fn other_sizes_and_other_devices_hold_too() {
    said(&["--part", "llm-scratch", "--size", "4", "--iterations", "2"], 0);
    let tiny = said(&["--part", "cost", "--size", "256"], 0);
    let touched = "each step works in the first 256 B of its memory";
    assert!(tiny.contains(touched), "{tiny}");
    said(&["--part", "llm-scratch", "--size", "40000", "--validate"], 0);
    said(&["--part", "pool", "--size", "100M"], 0);
    said(&["--part", "pool", "--part", "lifetime", "--gpu", "t4"], 0);
    said(&["--part", "lifetime", "--size", "12K"], 0);
}

#[test]
fn the_readme_shows_what_is_printed() {
    LESSON.readme_shows_wide_output("pool");
}

#[test]
fn requests_that_make_no_sense_are_usage_errors() {
    for (arguments, named) in [
        (&["--part", "nonsense"][..], "nonsense"),
        (&["--size", "0"], "0"),
        (&["--part", "cost", "--size", "3"], "--size 3 B"),
        (&["--part", "cost", "--size", "64GiB"], "--size 64 GiB"),
        (&["--part", "llm-scratch", "--size", "1TiB"], "unit"),
        (&["--part", "llm-scratch", "--size", "8GiB"], "--size 8 GiB"),
        (&["--part", "pool", "--size", "64GiB"], "--size 64 GiB"),
        (&["--part", "lifetime", "--size", "1"], "--size 1 B"),
        (&["--part", "lifetime", "--size", "128GiB"], "--size 128 GiB"),
        (&["--iterations", "0"], "0"),
        (&["--part", "pool", "--iterations", "2"], "--iterations: part pool"),
        (&["--chunks", "2"], "--chunks: the parts of this example"),
        (&["--no-such-flag"], "--no-such-flag"),
    ] {
        let output = run(&[&["--device", "software"], arguments].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(named), "{arguments:?}: {error}");
    }
}

#[test]
fn raw_pool_prints_what_the_readme_shows() {
    lesson_tests::raw_shows(env!("CARGO_BIN_EXE_raw_pool"), include_str!("../README.md"));
}
