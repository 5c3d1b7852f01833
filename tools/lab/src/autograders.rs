//! What common autograders read.

use crate::grading::{Grade, Graded};
use crate::judge::Mark;
use anyhow::Result;
use serde_json::{Value, json};

/// Gradescope's `results.json`: a test for each criterion.
///
/// # Errors
/// It cannot be written as JSON.
pub fn gradescope(grade: &Grade) -> Result<String> {
    let tests: Vec<Value> = grade.labs.iter().flat_map(tests).collect();
    let mut output = grade.problem.clone().unwrap_or_default();
    for graded in grade.labs.iter().filter(|graded| graded.said.is_some()) {
        let (note, said) = (graded.note.as_deref(), graded.said.as_deref());
        let [note, said] = [note, said].map(Option::unwrap_or_default);
        output += &format!("{}: {note}\n{said}\n", graded.verdict.lab);
    }
    let results = json!({
        "score": grade.points,
        "output": output,
        "visibility": "visible",
        "tests": tests,
    });
    Ok(serde_json::to_string_pretty(&results)? + "\n")
}

fn tests(graded: &Graded) -> impl Iterator<Item = Value> + '_ {
    graded.verdict.criteria.iter().map(|judged| {
        json!({
            "name": format!("{}: {}", graded.verdict.lab, judged.id),
            "score": judged.points,
            "max_score": judged.of,
            "status": if judged.mark.is_met() { "passed" } else { "failed" },
            "output": words(&judged.mark, &judged.teaches),
        })
    })
}

/// The result of GitHub Classroom's graders (`autograding-grading-reporter`), before it is encoded: a test for each lab.
///
/// # Errors
/// It cannot be written as JSON.
pub fn classroom(grade: &Grade) -> Result<String> {
    let tests: Vec<Value> = grade
        .labs
        .iter()
        .map(|graded| {
            let verdict = &graded.verdict;
            let missed = verdict
                .criteria
                .iter()
                .filter(|judged| !judged.mark.is_met());
            let lines = missed
                .map(|judged| format!("{}: {}", judged.id, words(&judged.mark, &judged.teaches)));
            json!({
                "name": verdict.lab,
                "status": if verdict.passed() { "pass" } else { "fail" },
                "score": verdict.points(),
                "message": graded.note,
                "test_code": format!("cargo lab run {}", verdict.lab),
                "filename": "",
                "line_no": 0,
                "duration": 0,
                "max_score": verdict.of(),
                "output": lines.collect::<Vec<_>>().join("\n"),
            })
        })
        .collect();
    let passed = grade.labs.iter().all(|graded| graded.verdict.passed());
    let results = json!({
        "version": 1,
        "status": if passed { "pass" } else { "fail" },
        "max_score": grade.of,
        "tests": tests,
    });
    Ok(serde_json::to_string_pretty(&results)? + "\n")
}

fn words(mark: &Mark, teaches: &str) -> String {
    format!("{}\n{teaches}", mark.found()).trim().to_owned()
}
