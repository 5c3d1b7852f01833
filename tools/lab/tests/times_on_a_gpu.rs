//! A time on a GPU is that of the shortest of several runs, all but one without CUPTI. Here the programs are scripts, which leave
//! behind what a GPU would.

#![cfg(unix)]

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Leaves the record of its n-th run, and notes whether CUPTI was to be used.
const PROGRAM: &str = r#"#!/bin/sh
echo "${CUPTI:-on}" >>"$0.runs"
cp "$0.$(wc -l <"$0.runs" | tr -d ' ').json" "$LAB_RECORD"
"#;

/// The delay of a first launch by CUPTI.
const DELAY: u64 = 300_000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a GPU might record of a lab's goal.
#[derive(Clone)]
struct Record(Value);

impl Record {
    fn of(lab: &str, source: &Value) -> Self {
        let goal = root().join(format!("labs/goals/{lab}.json"));
        let goal = fs::read_to_string(goal).expect("a goal");
        let mut goal: Value = serde_json::from_str(&goal).expect("JSON");
        goal["recording"]["source"] = source.clone();
        Self(json!({
            "times": "measured",
            "device": "a GPU",
            "recording": goal["recording"],
            "threads": goal["work"]["threads"],
            "result": { "expected": 1, "elements": 1, "wrong": 0, "first": null },
        }))
    }

    fn by_cupti(lab: &str) -> Self {
        Self::of(lab, &json!("cupti"))
    }

    fn by_events(lab: &str) -> Self {
        Self::of(lab, &json!({ "events": "CUPTI=off" }))
    }

    /// Everything behind the first operation is late.
    fn delayed(mut self) -> Self {
        let intervals = self.0["recording"]["intervals"].as_array_mut();
        for interval in intervals.expect("intervals").iter_mut().skip(1) {
            for end in ["start", "end"] {
                let time = interval["span"][end].as_u64().expect("a time");
                interval["span"][end] = json!(time + DELAY);
            }
        }
        self
    }

    /// Each operation begins when the one before it has ended.
    fn one_after_the_other(mut self) -> Self {
        let mut now = 0;
        let intervals = self.0["recording"]["intervals"].as_array_mut();
        for interval in intervals.expect("intervals") {
            let span = &mut interval["span"];
            let [start, end] = ["start", "end"].map(|end| span[end].as_u64().expect("a time"));
            *span = json!({ "start": now, "end": now + end - start });
            now += end - start;
        }
        self
    }

    fn with_a_wrong_element(mut self) -> Self {
        self.0["result"] =
            json!({ "expected": 1, "elements": 1, "wrong": 1, "first": [0, "1", "2"] });
        self
    }

    /// With a time that the program has measured of its kernel: the true one, and so much more.
    fn handing_in(mut self, more: u64) -> Self {
        let intervals = self.0["recording"]["intervals"].as_array();
        let kernel = |interval: &&Value| interval["engine"] == "kernel";
        let kernel = intervals.and_then(|all| all.iter().find(kernel));
        let span = &kernel.expect("a kernel")["span"];
        let time = span["end"].as_u64().expect("a time") - span["start"].as_u64().expect("a time");
        self.0["times_handed_in"] = json!([["kernel", time + more]]);
        self
    }
}

/// Verifies a lab whose solution leaves these records, run by run, and whose exercise the first one. Returns the output, and how
/// each run of the solution was started.
fn verified(lab: &str, records: &[Record]) -> (String, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    for (of, count) in [("solutions", records.len()), ("exercises", 1)] {
        let program = folder.path().join(of).join(lab);
        fs::create_dir(folder.path().join(of)).expect("a folder");
        fs::write(&program, PROGRAM).expect("a program");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("permissions");
        for (number, record) in (1..).zip(&records[..count]) {
            let file = program.with_extension(format!("{number}.json"));
            fs::write(file, record.0.to_string()).expect("a record");
        }
    }
    let output = Command::new(env!("CARGO_BIN_EXE_lab"))
        .args(["verify", lab, "--device", "nvidia", "--without-mistakes"])
        .arg("--programs")
        .arg(folder.path())
        .env("LABS_ROOT", root())
        .env("COLUMNS", "200")
        .env_remove("CUPTI")
        .output()
        .expect("the command starts");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let runs = fs::read_to_string(folder.path().join("solutions").join(format!("{lab}.runs")));
    let runs = runs.expect("runs").lines().map(str::to_owned).collect();
    (said, runs)
}

fn passes(said: &str) -> bool {
    said.contains("1 of 1 labs")
}

const THREE_WAY: &str = "13_three_way";

#[test]
fn what_cupti_delays_counts_by_the_shortest_run() {
    let late = || Record::by_events(THREE_WAY).delayed();
    let (said, runs) = verified(
        THREE_WAY,
        &[
            Record::by_cupti(THREE_WAY).delayed(),
            Record::by_cupti(THREE_WAY).delayed(),
            Record::by_cupti(THREE_WAY).delayed(),
            late(),
            Record::by_events(THREE_WAY),
            late(),
        ],
    );
    assert!(passes(&said), "{said}");
    assert_eq!(runs, ["on", "on", "on", "off", "off", "off"]);
}

#[test]
fn a_program_that_is_slow_in_all_runs_is_slow() {
    let late = || Record::by_events(THREE_WAY).delayed();
    let by_cupti = || Record::by_cupti(THREE_WAY);
    let (said, _) = verified(
        THREE_WAY,
        &chain(by_cupti().delayed(), [late(), late(), late()]),
    );
    assert!(!passes(&said), "{said}");
    let missed = |line: &str| line.contains("  - ") && line.contains("in the shortest of 4 runs");
    assert!(said.lines().any(missed), "{said}");
    let (said, _) = verified(THREE_WAY, &chain(by_cupti(), [late(), late(), late()]));
    assert!(passes(&said), "timing events may delay, too: {said}");
}

#[test]
fn a_run_with_a_wrong_result_has_no_time() {
    let late = || Record::by_events(THREE_WAY).delayed();
    let wrong = Record::by_events(THREE_WAY).with_a_wrong_element();
    let by_cupti = Record::by_cupti(THREE_WAY).delayed();
    let (said, _) = verified(THREE_WAY, &chain(by_cupti, [late(), wrong, late()]));
    assert!(!passes(&said), "{said}");
    assert!(said.contains("in the shortest of 3 runs"), "{said}");
}

#[test]
fn a_time_that_the_program_measured_is_that_of_the_shortest_run() {
    let lab = "03_event_timing";
    let slow = || Record::by_cupti(lab).delayed().handing_in(DELAY);
    let timed = |more| [(); 3].map(|()| Record::by_events(lab).handing_in(more));
    let (said, _) = verified(lab, &chain(slow(), timed(0)));
    assert!(passes(&said), "{said}");
    let (said, _) = verified(lab, &chain(slow(), timed(DELAY)));
    assert!(!passes(&said), "{said}");
}

/// A program that CUPTI records the same way each time, and what runs without CUPTI leave.
fn chain(by_cupti: Record, others: [Record; 3]) -> Vec<Record> {
    let by_cupti = [(); 3].map(|()| by_cupti.clone());
    by_cupti.into_iter().chain(others).collect()
}

#[test]
fn an_overlap_that_the_host_prevented_once_counts_by_the_shortest_recorded_run() {
    let serial = || Record::by_cupti(THREE_WAY).one_after_the_other();
    let others = || [(); 3].map(|()| Record::by_events(THREE_WAY));
    let once = [serial(), Record::by_cupti(THREE_WAY), serial()];
    let (said, _) = verified(
        THREE_WAY,
        &once.into_iter().chain(others()).collect::<Vec<_>>(),
    );
    assert!(passes(&said), "{said}");
    let (said, _) = verified(THREE_WAY, &chain(serial(), others()));
    assert!(!passes(&said), "{said}");
    assert!(said.contains("overlap"), "{said}");
}

#[test]
fn a_lab_without_a_limit_for_gpus_runs_only_with_cupti() {
    let lab = "10_buffer_reused";
    let (said, runs) = verified(lab, &[(); 3].map(|()| Record::by_cupti(lab).delayed()));
    assert!(passes(&said), "{said}");
    assert_eq!(runs, ["on"; 3]);
}

#[test]
fn calls_that_nobody_recorded_are_not_judged() {
    // It asks for calls that the records here do not have.
    let lab = "11_host_callback";
    let (said, _) = verified(lab, &[Record::by_cupti(lab)]);
    assert!(!passes(&said), "{said}");
    let (said, _) = verified(lab, &[Record::by_events(lab)]);
    assert!(passes(&said), "{said}");
}
