//! A program that rehearses: it runs twice, and the second run alone is recorded. On a GPU all labs do; here one is made to.

#![cfg(target_os = "linux")]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The solution of a lab that hands in a time and a result; each run says which one it is and may end early.
fn source() -> String {
    let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs");
    let solution = fs::read_to_string(labs.join("solutions/03_event_timing.rs")).expect("lab 3");
    let begin = "fn main() -> Result<()> {\n";
    let counts = r#"
        static RUNS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let run = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        println!("run {run}");
        if std::env::var("LAB_REHEARSAL").as_deref() == Ok("on") && run == 0 {
            match std::env::var("FIRST_RUN").as_deref() {
                Ok("panics") => panic!("the first run"),
                Ok("fails") => anyhow::bail!("the first run"),
                Ok("ends the process") => std::process::exit(7),
                _ => {}
            }
        }
    "#;
    let changed = solution.replace(begin, &format!("{begin}{counts}"));
    assert_ne!(solution, changed);
    changed
}

/// The verdict on the program, and the program itself.
fn compiled(folder: &Path) -> (Value, PathBuf) {
    let file = folder.join("03_event_timing.rs");
    fs::write(&file, source()).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_lab"))
        .args(["run", "3", "--json", "--file"])
        .arg(&file)
        .env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))
        .env_remove("LAB_REHEARSAL")
        .output()
        .expect("the command starts");
    let verdict = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/labs/03_event_timing");
    let program = folder.join("program");
    fs::copy(built, &program).expect("a program");
    (verdict, program)
}

/// What a run prints, and its record.
fn run(program: &Path, rehearsal: Option<&str>, first_run: &str) -> (String, Value) {
    let file = program.with_extension("json");
    let _ = fs::remove_file(&file);
    let mut command = Command::new(program);
    if let Some(rehearsal) = rehearsal {
        command.env("LAB_REHEARSAL", rehearsal);
    } else {
        command.env_remove("LAB_REHEARSAL");
    }
    let output = command
        .env("LAB", "03_event_timing")
        .env("LAB_RECORD", &file)
        .env("CUDA_DRIVER", "software")
        .env("SOFTWARE_GPU", "h200")
        .env("FIRST_RUN", first_run)
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{first_run}: {said}");
    let record = fs::read_to_string(&file).expect("a record");
    (said, serde_json::from_str(&record).expect("JSON"))
}

/// What is in a record, without its times and without the gate that holds the streams back until the host has enqueued all
/// operations: a model shows its host function, which is no part of the program.
fn contents(record: &Value) -> Vec<String> {
    let of = |list: &str, keys: &[&str]| -> Vec<String> {
        let list = record["recording"][list].as_array().expect(list).iter();
        let line = |entry: &Value| keys.iter().map(|key| entry[key].to_string()).collect();
        list.map(line).collect()
    };
    let mut operations = of("intervals", &["engine", "name", "stream", "bytes"]);
    operations.retain(|operation| !operation.starts_with("\"host-function\""));
    let calls = of("calls", &["name", "thread", "stream"]);
    let handed_in = record["times_handed_in"].as_array().expect("times").len();
    let sums = format!("{} {} {handed_in}", record["threads"], record["result"]);
    assert!(operations.len() >= 3 && handed_in == 1, "{record:#}");
    [operations, calls, vec![sums]].concat()
}

#[test]
fn the_second_run_alone_is_recorded_and_heard() {
    let folder = tempfile::tempdir().expect("a folder");
    let (verdict, program) = compiled(folder.path());
    let criteria = verdict["criteria"].as_array().expect("criteria");
    let met = |judged: &Value| judged["mark"] == "met";
    assert!(criteria.iter().all(met), "{verdict:#}");

    let (once, without) = run(&program, Some("off"), "");
    assert!(once.starts_with("run 0\nkernel: "), "{once}");
    let (by_default, model) = run(&program, None, "");
    assert_eq!(
        (by_default, &model),
        (once.clone(), &without),
        "a model needs no rehearsal"
    );

    let heard = once.replace("run 0", "run 1");
    let (said, with) = run(&program, Some("on"), "");
    assert_eq!(said, heard);
    assert_eq!(contents(&with), contents(&without));
    let first = &with["recording"]["intervals"][0];
    assert_eq!(
        first["engine"], "host-function",
        "the gate stands before the copy in"
    );
    for first_run in ["panics", "fails", "ends the process"] {
        let (said, again) = run(&program, Some("on"), first_run);
        assert_eq!(
            said, once,
            "{first_run}: the program starts again without a rehearsal"
        );
        assert_eq!(contents(&again), contents(&without), "{first_run}");
    }
}
