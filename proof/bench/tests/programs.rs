//! The comparison of whole programs, with scripts in place of the programs: what it says and how it ends.
#![cfg(unix)]

use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

const PROGRAM: &str = "multi_stream_pipeline";

/// A folder with one program, which runs `script`; `$json` is the file that it is to write.
fn program(folder: &Path, script: &str) {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join(PROGRAM);
    let find = "while [ $# -gt 0 ]; do [ \"$1\" != --json ] || json=$2; shift; done";
    fs::write(&path, format!("#!/bin/sh\n{find}\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn timed(variant: &str, us: f64) -> String {
    format!(
        r#"{{"part": "event-chain", "group": "variants", "variant": "{variant}", "plan": [0, 8, 1, 2], "median_us": {us}}}"#
    )
}

fn compared(example: &str, twin: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let (examples, twins) = (folder.path().join("rust"), folder.path().join("cpp"));
    program(&examples, example);
    program(&twins, twin);
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(env!("CARGO_BIN_EXE_programs"))
        .args(["--rounds", "2", "--part", "event-chain"])
        .args([&examples, &twins, Path::new("kernels.cubin")])
        .output()
        .unwrap();
    let said = String::from_utf8([stdout, stderr].concat()).unwrap();
    (status.code(), said)
}

/// What an example writes, with one claim, which holds when the exit code is 0.
fn example(us: f64, code: i32) -> String {
    let timed = |variant, us: f64| json!({"group": {"id": "variants", "text": "8 B out"}, "variant": {"id": variant, "text": "any text"}, "kind": "makespan", "samples_us": [us]});
    let claim = json!({"id": "claim", "sentence": "a sentence", "found": "x", "limit": "y", "holds": code == 0});
    let part = json!({
        "name": "event-chain", "question": "?", "workload": "", "bounds": [], "timelines": [],
        "plans": [{"group": "variants", "bytes_in": 0, "bytes_out": 8, "launches": 1, "elements": 2}],
        "timed": [timed("host-sync", 50.0), timed("events", us)],
        "claims": [claim], "holds": code == 0,
    });
    let device = json!({
        "name": "d", "driver": "1", "cuda": "13.0", "clock_mhz": 1, "memory_clock_mhz": 1,
        "multiprocessors": 1,
    });
    let file = json!({
        "version": chapter_results::VERSION, "example": PROGRAM, "device": device,
        "times": "measured", "request": {"profiled": false},
        "parts": [part], "reports": [], "holds": code == 0,
    });
    format!("echo '{file}' > $json; exit {code}")
}

fn twin(variant: &str) -> String {
    format!("echo '{}' > $json", timed(variant, 10.0))
}

#[test]
fn within_the_limit_is_success() {
    let (code, said) = compared(&example(10.1, 0), &twin("events"));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("all 1 ratios are at most 1.02"), "{said}");
    assert!(said.contains("1.010"), "{said}");
}

#[test]
fn a_variant_above_the_limit_is_named() {
    let (code, said) = compared(&example(11.0, 0), &twin("events"));
    assert_eq!(code, Some(1), "{said}");
    let named = "1 of 1 ratios are above 1.02: event-chain: variants: events (1.100)";
    assert!(said.contains(named), "{said}");
}

#[test]
fn a_lesson_that_does_not_hold_is_reported_and_compared() {
    let (code, said) = compared(&example(10.0, 1), &twin("events"));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("FAILED  a sentence: x"), "{said}");
}

#[test]
fn what_cannot_be_compared_ends_with_2_and_a_reason() {
    for (example, twin, reason) in [
        ("exit 3".into(), twin("events"), "exit code Some(3)"),
        (
            example(10.0, 0),
            twin("arena"),
            "event-chain: variants: arena",
        ),
        (
            example(10.0, 0),
            "echo wrong results; exit 1".into(),
            "wrong results",
        ),
        (example(10.0, 0), "true".into(), "twin.json"),
        (
            example(10.0, 0),
            twin("events").replace("[0, 8, 1, 2]", "[0, 8, 2, 4]"),
            "does other work than its twin",
        ),
        ("echo '{' > $json".into(), twin("events"), "example.json"),
    ] {
        let (code, said) = compared(&example, &twin);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(reason), "{reason}: {said}");
    }
}
