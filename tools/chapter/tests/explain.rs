//! `cargo chapter explain -- PROGRAM`: what the program is started with, and what is shown of it.

use chapter_results::device::{Fingerprint, TimeSource};
use chapter_results::intervals::{Engine, Finding, Interval, Recording, Source, Span};
use chapter_results::part::{PartResults, Timeline};
use chapter_results::results::Request;
use chapter_results::{Results, VERSION};
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// What the command says of `sh -c SCRIPT` in a folder in which `run.json` is the timeline of a program.
fn explain(options: &[&str], script: &str, findings: &[&str]) -> (i32, String, String) {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("run.json"), timeline(findings)).unwrap();
    explain_in(folder.path(), options, script)
}

fn explain_in(folder: &Path, options: &[&str], script: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chapter"));
    command.current_dir(folder).arg("explain").args(options);
    command.args(["--", "sh", "-c", script]);
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn timeline(findings: &[&str]) -> String {
    let kernel = |start, end| Interval {
        device: 0,
        engine: Engine::Kernel,
        name: "scale".into(),
        stream: "2".into(),
        span: Span { start, end },
        bytes: 0,
    };
    let mut recording = Recording::new(
        Source::SoftwareGpu,
        vec![kernel(0, 1000), kernel(21_000, 22_000)],
    );
    let finding = |text: &&str| Finding {
        text: (*text).to_owned(),
        intervals: vec![0, 1],
    };
    recording.findings = findings.iter().map(finding).collect();
    let part = PartResults {
        name: "program".into(),
        workload: "0".into(),
        timelines: vec![Timeline {
            variant: ("whole", "the whole program").into(),
            recording,
        }],
        ..PartResults::default()
    };
    let results = Results {
        version: VERSION,
        example: "a-out".into(),
        device: Fingerprint::default(),
        times: TimeSource::Modelled,
        request: Request::default(),
        parts: vec![part],
        reports: vec![],
        holds: false,
    };
    serde_json::to_string(&results).unwrap()
}

const LEAVES: &str = r#"cp run.json "$SOFTWARE_GPU_TIMELINE"; echo "$CUDA_DRIVER, $SOFTWARE_GPU""#;

#[test]
fn findings_and_where_the_time_went_come_first() {
    let options = ["--gpu", "l4", "--gaps", "1"];
    let race = "race: a kernel and a copy\n  bytes: 64";
    let (code, out, err) = explain(&options, LEAVES, &[race]);
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    let order = [
        "software, l4\n",
        "1 finding:\n  - race: a kernel and a copy\n",
        "The device was idle 90.9 % of the time",
        "a-out, program: the whole program",
        "Found by the checkers",
    ];
    let places = order.map(|part| {
        out.find(part)
            .unwrap_or_else(|| panic!("{part} is not in\n{out}"))
    });
    assert!(places.is_sorted(), "{out}");
}

#[test]
fn a_program_without_findings_succeeds_and_one_that_fails_does_not() {
    let (code, out, _) = explain(&[], LEAVES, &[]);
    assert_eq!((code, out.contains("Findings: none.")), (0, true), "{out}");
    let (code, out, _) = explain(&[], &format!("{LEAVES}; exit 3"), &[]);
    assert_eq!(code, 1);
    assert!(
        out.contains("The program has failed: exit status: 3."),
        "{out}"
    );
}

#[test]
fn the_library_is_searched_first_and_the_timeline_is_kept() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("run.json"), timeline(&[])).unwrap();
    fs::create_dir(at("shared-library")).unwrap();
    fs::write(at("shared-library/libcuda.so.1"), "").unwrap();
    let searched = if cfg!(target_os = "macos") {
        "DYLD_LIBRARY_PATH"
    } else {
        "LD_LIBRARY_PATH"
    };
    let script = format!("{LEAVES}; echo \"first ${{{searched}%%:*}}\"");
    let options = ["--keep", "kept.json", "--html", "page.html"];
    let (code, out, err) = explain_in(folder.path(), &options, &script);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("/shared-library\n"), "{out}");
    assert!(
        at("kept.json").exists() && at("page.html").exists(),
        "{out}"
    );
}

#[test]
fn what_cannot_be_explained_is_refused_with_exit_code_2() {
    let (code, _, err) = explain(&[], "true", &[]);
    assert!(
        code == 2 && err.contains("sh has left no timeline: it made no call"),
        "{err}"
    );
    let (code, _, err) = explain(&["--library", "absent"], "true", &[]);
    assert!(
        code == 2 && err.contains("--library absent: no libcuda.so.1 is there"),
        "{err}"
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_chapter"));
    let output = command
        .args(["explain", "--", "./no-such-program"])
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("cannot start ./no-such-program"), "{err}");
}
