//! What the program says and how it ends, on a machine without a GPU.

use std::process::{Command, Output};

const PARTS: [&str; 3] = ["append", "prefetch", "growth"];

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stream_ordered_kv_cache"))
        .args(["--device", "software"])
        .args(arguments)
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
fn attention_that_does_not_wait_is_wrong_and_reported_every_time() {
    for _ in 0..2 {
        let output = run(&["--part", "append", "--omit-event", "--size", "2MiB"]);
        assert_eq!(code(&output), Some(1));
        assert!(text(&output.stdout).contains("attention's outputs are wrong"));
        let report = text(&output.stderr);
        for named in [
            "race",
            "`append_kv`",
            "`paged_attention`",
            "record an event",
        ] {
            assert!(report.contains(named), "{named} is not in the report");
        }
    }
}

#[test]
fn attention_that_does_not_wait_for_its_pages_is_wrong_and_reported() {
    let output = run(&["--part", "prefetch", "--omit-event"]);
    assert_eq!(code(&output), Some(1));
    assert!(text(&output.stdout).contains("attention's outputs are wrong"));
    let report = text(&output.stderr);
    for named in ["race", "from host to device", "`paged_attention`"] {
        assert!(report.contains(named), "{named} is not in the report");
    }
}

#[test]
fn every_run_is_checked_when_asked_to() {
    let output = run(&["--validate", "--iterations", "2", "--size", "512KiB"]);
    assert!(text(&output.stdout).contains("all variants' results are the same: they are"));
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
fn senseless_requests_are_usage_errors() {
    for (arguments, named) in [
        (&["--part", "nonsense"][..], "nonsense"),
        (&["--part", "append", "--size", "4"], "--size 4 B"),
        (
            &["--part", "append", "--size", "1MiB", "--chunks", "33"],
            "33",
        ),
        (&["--part", "prefetch", "--size", "31KiB"], "--size 31 KiB"),
        (
            &["--part", "prefetch", "--size", "1024GiB"],
            "--size 1024 GiB",
        ),
        (
            &["--part", "growth", "--iterations", "2"],
            "--iterations: part growth",
        ),
        (
            &["--part", "append", "--chunks", "48"],
            "64 tokens are 32 or 64, not 48",
        ),
        (&["--chunks", "0"], "0"),
        (&["--iterations", "0"], "0"),
    ] {
        let output = run(arguments);
        assert_eq!(code(&output), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(named), "{arguments:?}");
    }
}
