//! Judges a program of a lab that has run already, as `cargo lab` does, and prints the verdict as JSON. The playground runs it in
//! the browser.
//!
//! judge_record LAB FOLDER: the folder holds `labs.toml`, the lab's goal as `goal.json`, and what the program left behind:
//! `record.json` (not if nothing was recorded), `code` (its exit code), `stdout` and `stderr`.

use lab::attempt::{Attempt, LabDevice, LabRun};
use lab::catalogue::{Catalogue, Check, Lab};
use lab::goal::{Goal, counted};
use lab::judge::{Verdict, judge};
use lab::process::Ended;
use lab::{edges, record};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [lab, folder] = arguments.as_slice() else {
        eprintln!("usage: judge_record LAB FOLDER");
        return ExitCode::from(2);
    };
    match verdict(lab, Path::new(folder)) {
        Ok(verdict) => {
            println!("{verdict}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn read(folder: &Path, name: &str) -> Result<String, String> {
    let path = folder.join(name);
    fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn verdict(name: &str, folder: &Path) -> Result<Value, String> {
    let in_file = |file: &str, error: String| format!("{}: {error}", folder.join(file).display());
    let labs = read(folder, "labs.toml")?;
    let catalogue =
        Catalogue::parse(&labs).map_err(|error| in_file("labs.toml", format!("{error:#}")))?;
    let lab = catalogue.find(name).map_err(|error| format!("{error:#}"))?;
    let goal: Goal = serde_json::from_str(&read(folder, "goal.json")?)
        .map_err(|error| in_file("goal.json", error.to_string()))?;
    let code = read(folder, "code")?;
    let code = code
        .trim()
        .parse()
        .map_err(|_| in_file("code", format!("{code:?} is not an exit code")))?;
    let (record, refused) = match record::read(&folder.join("record.json")).transpose() {
        Ok(record) => (record, None),
        Err(why) => (None, Some(why)),
    };
    let run = LabRun {
        ended: Ended::Exit(code),
        stdout: read(folder, "stdout")?,
        stderr: read(folder, "stderr")?,
        record,
        refused,
        without_cupti: Vec::new(),
        warnings: String::new(),
    };
    let attempt = Attempt::Ran(Box::new(run));
    let verdict = judge(lab, Some(&goal), LabDevice::Software, &attempt);
    Ok(in_json(lab, &goal, &attempt, &verdict))
}

/// The verdict, with both timelines and the sentences about dependencies.
fn in_json(lab: &Lab, goal: &Goal, attempt: &Attempt, verdict: &Verdict) -> Value {
    let wanted = counted(lab, &goal.recording);
    let record = match attempt {
        Attempt::Ran(run) => run.record.as_ref(),
        _ => None,
    };
    let own = record.map(|record| counted(lab, &record.recording));
    let pairs = lab.criteria.iter().zip(&verdict.criteria);
    let missed: Vec<&Check> = pairs
        .filter(|(_, judged)| !judged.mark.is_met())
        .map(|(criterion, _)| &criterion.check)
        .collect();
    let edges = match (record, &own) {
        (Some(record), Some(own)) if !verdict.passed() => {
            edges::edges(record, own, Some(&goal.recording), &missed)
        }
        _ => Vec::new(),
    };
    json!({
        "lab": lab.name,
        "title": lab.title,
        "points": verdict.points(),
        "of": verdict.of(),
        "passed": verdict.passed(),
        "criteria": verdict.criteria,
        "reports": record.map(|record| &record.reports),
        "edges": edges,
        "yours": own,
        "goal": wanted,
    })
}
