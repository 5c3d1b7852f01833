//! The command in the workspace: its real programs, on the software GPU.

use std::path::Path;
use std::process::Command;

/// Exit code, standard output and standard error of the command, started in the workspace.
fn chapter(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_chapter"))
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .env("CUDA_VISIBLE_DEVICES", "-1")
        .env_remove("CUDA_DRIVER")
        .env_remove("SOFTWARE_GPU")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn a_real_target_runs_and_its_results_can_be_compared() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let out = out.to_str().unwrap();
    let (code, said, err) = chapter(&[
        "run",
        "stream_hazards",
        "--device",
        "software",
        "--out",
        out,
    ]);
    assert_eq!(code, 0, "{said}{err}");
    assert!(said.contains("stream_hazards:missing-event"), "{said}");
    assert!(said.contains("\n7 ok, in "), "{said}");
    assert!(Path::new(out).join("stream_hazards.json").is_file());
    let (code, said, err) = chapter(&["compare", out]);
    assert_eq!(code, 0, "{err}");
    assert!(said.contains("stream_hazards:callback-waits"), "{said}");
    let ignoring = ["run", "stream_hazards", "--iterations", "2", "--out", out];
    let (code, _, err) = chapter(&ignoring);
    assert_eq!(code, 2);
    assert!(
        err.contains("--iterations: what was asked for does not use it"),
        "{err}"
    );
}

#[test]
fn every_demo_is_a_part_and_those_that_are_not_are_said_to_be_missing() {
    let (code, said, err) = chapter(&["demos", "list"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        said.contains("stream-overlap    How near to the bound"),
        "{said}"
    );
    assert!(
        said.contains("stream-priority   not in this workspace yet"),
        "{said}"
    );
    for demo in ["stream-priority", "event-timing"] {
        let (code, said, err) = chapter(&["demos", demo]);
        assert_eq!((code, said.as_str()), (2, ""));
        assert_eq!(err, format!("error: {demo}: not in this workspace yet\n"));
    }
    let (code, _, err) = chapter(&["demos", "nonsense"]);
    assert_eq!(code, 2);
    assert!(err.contains("there are: stream-overlap, "), "{err}");
}

#[test]
fn a_demo_is_told_what_follows_the_dashes_and_its_exit_code_is_passed_on() {
    let (code, said, err) = chapter(&["demos", "missing-event", "--", "--device", "software"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        said.contains("\nmissing-event: What does a kernel read"),
        "{said}"
    );
    assert!(!said.contains("\nearly-host-read: "), "{said}");
    assert_eq!(
        chapter(&["demos", "missing-event", "--", "--device", "nvidia"]).0,
        3
    );
    assert_eq!(
        chapter(&["demos", "missing-event", "--", "--nonsense"]).0,
        2
    );
}

#[test]
fn the_doctor_says_what_would_be_used_and_why() {
    let (code, said, err) = chapter(&["doctor"]);
    assert_eq!(code, 0, "{said}{err}");
    assert!(
        said.contains("device             Software GPU, modelled on NVIDIA H200 ("),
        "{said}"
    );
    assert!(
        said.contains("PTX                up to date with the kernels' sources"),
        "{said}"
    );
    assert!(
        said.contains("examples           basic_streams, stream_hazards, "),
        "{said}"
    );
    assert!(said.ends_with("\nThe examples can run here.\n"), "{said}");
    let output = Command::new(env!("CARGO_BIN_EXE_chapter"))
        .arg("doctor")
        .env("CUDA_VISIBLE_DEVICES", "-1")
        .env("CUDA_DRIVER", "nvidia")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
}
