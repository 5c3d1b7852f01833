//! What the program says and how it ends, on a machine without a GPU.

use left_out::Missing;
use lesson_tests::Lesson;
use serde_json::Value;
use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

const LESSON: Lesson =
    Lesson { program: env!("CARGO_BIN_EXE_basic_streams"), readme: include_str!("../README.md") };

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_basic_streams"));
    command
        .args(arguments)
        .env_remove("COLUMNS")
        .env_remove("CUDA_DRIVER")
        .env_remove("SOFTWARE_GPU");
    command
}

fn run(arguments: &[&str]) -> Output {
    program(arguments).output().expect("the program starts")
}

fn on_software_gpu(arguments: &[&str]) -> Output {
    run(&[&["--device", "software"], arguments].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// The exit code, and both outputs for a failed assertion.
fn code(output: &Output) -> Option<i32> {
    println!("{}\n{}", text(&output.stdout), text(&output.stderr));
    output.status.code()
}

#[test]
fn the_readme_shows_what_is_printed() {
    LESSON.readme_shows("kernels");
}

#[test]
fn raw_mapped_prints_what_the_readme_shows() {
    lesson_tests::raw_shows(env!("CARGO_BIN_EXE_raw_mapped"), include_str!("../README.md"));
}

#[test]
fn raw_prints_what_the_readme_shows() {
    let raw = Command::new(env!("CARGO_BIN_EXE_raw")).env("CUDA_DRIVER", "software").output();
    let raw = raw.expect("the program starts");
    assert_eq!(code(&raw), Some(0));
    assert!(include_str!("../README.md").contains(&text(&raw.stdout)));
}

#[test]
fn other_parameters_than_the_parts_own_do_not_make_a_lesson_fail() {
    for (part, option, value) in [
        ("three-way", "--chunks", "1"),
        ("three-way", "--chunks", "2"),
        ("three-way", "--chunks", "64"),
        ("three-way", "--chunks", "128"),
        ("three-way", "--size", "1MiB"),
        ("issue-order", "--chunks", "1"),
        ("issue-order", "--chunks", "2"),
        ("issue-order", "--chunks", "64"),
        ("issue-order", "--size", "1MiB"),
        ("pinned", "--size", "4KiB"),
    ] {
        let output = on_software_gpu(&["--part", part, option, value]);
        assert_eq!(code(&output), Some(0), "{part} {option} {value}");
        let said = text(&output.stdout);
        assert!(said.contains("not judged: your parameters"), "{part} {option} {value}");
    }
}

#[test]
fn a_reader_who_stops_reading_does_not_change_the_exit_code() {
    let arguments = ["--device", "software", "--part", "three-way", "--size", "4MiB"];
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let status = program(&arguments).stdout(writer).status();
    assert_eq!(status.expect("the program starts").code(), Some(0));
}

#[test]
fn senseless_requests_are_usage_errors() {
    for (arguments, named) in [
        (&["--part", "nonsense"][..], "nonsense"),
        (&["--chunks", "0", "--part", "three-way"], "0"),
        (&["--iterations", "0"], "0"),
        (&["--iterations", "100001"], "1..=100000"),
        (&["--iterations", "18446744073709551615"], "too large"),
        (&["--part", "issue-order", "--size", "4"], "--size 4 B"),
        (&["--size", "0"], "0"),
        (&["--size", "lots"], "lots"),
        (&["--size", "64", "--chunks", "17", "--part", "three-way"], "17"),
        (
            &["--part", "kernels", "--chunks", "8"],
            "--chunks: part kernels does not use it; leave it out, or choose from: three-way, issue-order",
        ),
        (&["--part", "three-way", "--part", "kernels", "--size", "1MiB"], "--size: part kernels"),
        (&["--device", "toaster"], "toaster"),
        (&["--no-such-flag"], "--no-such-flag"),
    ] {
        let output = run(arguments);
        assert_eq!(code(&output), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(named), "{arguments:?}");
    }
}

#[test]
fn demanding_an_absent_driver_is_one_sentence_and_exit_code_3() {
    if Path::new("/proc/driver/nvidia").exists() {
        left_out::note(Missing::MachineWithoutDriver);
        return;
    }
    let output = run(&["--device", "nvidia"]);
    assert_eq!(code(&output), Some(3));
    assert_eq!(text(&output.stderr).lines().count(), 1);
    assert_eq!(text(&output.stdout), "");
}

#[test]
fn a_trace_is_what_trace_viewers_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.json");
    let output =
        on_software_gpu(&["--part", "issue-order", "--trace", path.to_str().expect("UTF-8")]);
    assert_eq!(code(&output), Some(0));
    let trace: Value = serde_json::from_slice(&fs::read(&path).expect("a trace")).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("traceEvents");
    let spans: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert!(spans.len() >= 16, "{} spans", spans.len());
    for span in spans {
        for field in ["ts", "dur", "pid", "tid"] {
            assert!(span[field].is_number(), "{field} of {span}");
        }
        assert!(span["name"].is_string(), "{span}");
    }
    let left: Vec<_> = fs::read_dir(folder.path()).expect("the folder").collect();
    assert_eq!(left.len(), 1, "only the trace is left: {left:?}");
}

#[test]
fn a_trace_that_cannot_be_written_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("no such folder/trace.json");
    let output = on_software_gpu(&["--trace", path.to_str().expect("UTF-8")]);
    assert_eq!(code(&output), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
}
