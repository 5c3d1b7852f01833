//! What the program says and how it ends, on a machine without a GPU.

use std::process::{Command, Output};

const PARTS: [&str; 3] = ["append", "prefetch", "growth"];

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stream_ordered_kv_cache"))
        .args(["--device", "software"])
        .args(arguments)
        .env_remove("COLUMNS")
        .env_remove("CUDA_DRIVER")
        .env_remove("SOFTWARE_GPU")
        .env_remove("SOFTWARE_GPU_RACES")
        .output()
        .expect("the program starts")
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
fn every_part_holds_without_a_race_and_prints_the_same_twice() {
    let output = run(&["--races", "fail"]);
    assert_eq!(code(&output), Some(0));
    assert_eq!(text(&output.stderr), "");
    let said = text(&output.stdout);
    for part in PARTS {
        assert!(said.contains(&format!("\n{part}: ")), "{part} did not run");
    }
    assert_eq!(text(&run(&["--races", "fail"]).stdout), said);
}

#[test]
fn other_parameters_are_measured_and_right() {
    for arguments in [
        &["--part", "append", "--size", "16MiB", "--chunks", "8"][..],
        &["--part", "prefetch", "--chunks", "1"],
        &["--size", "1MiB"],
    ] {
        let output = run(arguments);
        assert_eq!(code(&output), Some(0), "{arguments:?}");
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn the_hosts_waits_are_shown_by_name() {
    let output = run(&["--part", "append", "--size", "1MiB"]);
    let said = text(&output.stdout);
    for stream in ["append", "attention"] {
        let wait = format!("cuStreamSynchronize({stream})");
        assert!(said.contains(&wait), "{wait} is missing: {said}");
    }
}

#[test]
fn every_run_is_checked_when_asked_to() {
    let output = run(&["--validate", "--iterations", "2", "--size", "512KiB"]);
    assert_eq!(code(&output), Some(0));
    assert!(!text(&output.stdout).contains("are wrong"));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn the_readme_shows_what_is_printed() {
    let output = run(&["--part", "append"]);
    assert_eq!(code(&output), Some(0));
    assert!(
        include_str!("../README.md").contains(&text(&output.stdout)),
        "README.md shows another output: put the one above into it"
    );
}

#[test]
fn requests_that_cannot_be_met_are_usage_errors() {
    for (arguments, named) in [
        (&["--part", "nonsense"][..], "nonsense"),
        (&["--part", "append", "--size", "4"], "--size 4 B"),
        (&["--part", "append", "--size", "1MiB", "--chunks", "33"], "33"),
        (&["--part", "prefetch", "--size", "31KiB"], "--size 31 KiB"),
        (&["--part", "prefetch", "--size", "1024GiB"], "--size 1024 GiB"),
        (&["--part", "growth", "--iterations", "2"], "--iterations: part growth"),
        (&["--part", "append", "--chunks", "48"], "64 tokens are 32 or 64, not 48"),
        (&["--chunks", "0"], "0"),
        (&["--iterations", "0"], "0"),
    ] {
        let output = run(arguments);
        assert_eq!(code(&output), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(named), "{arguments:?}");
    }
}
