//! Tries rules in this process and reports each on one line.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::api;
use crate::rule::{Failure, Outcome, Rule};
use crate::scene::Scene;

/// How a rule ended, as the worker tells the supervisor: one letter, a tab, the text on one line.
pub(crate) const PASSED: &str = "P";
pub(crate) const FAILED: &str = "F";
pub(crate) const SKIPPED: &str = "S";

/// Checks the rules one after the other and writes a line for each.
///
/// # Errors
/// When the report cannot be written.
pub fn work<'a>(
    rules: impl IntoIterator<Item = &'a Rule>,
    mut report: impl Write,
) -> io::Result<()> {
    for rule in rules {
        let (letter, text) = match try_rule(rule) {
            Ok(()) => (PASSED, String::new()),
            Err(failure @ Failure::Skipped(_)) => (SKIPPED, failure.to_string()),
            Err(failure) => (FAILED, failure.to_string()),
        };
        writeln!(report, "{letter}\t{}", text.replace('\n', " "))?;
        report.flush()?;
    }
    Ok(())
}

/// Each rule has a thread of its own: no context is current there, and its per-thread default stream is new.
fn try_rule(rule: &Rule) -> Outcome {
    thread::scope(|scope| {
        let tried = scope.spawn(|| catch_unwind(AssertUnwindSafe(|| check(rule))));
        match tried.join() {
            Ok(Ok(outcome)) => outcome,
            _ => Err(Failure::Broken {
                what: "the check".to_owned(),
                expected: "an outcome".to_owned(),
                came: "a panic".to_owned(),
                line: 0,
            }),
        }
    })
}

fn check(rule: &Rule) -> Outcome {
    let mut scene = Scene::open()?;
    let outcome = (rule.check)(&mut scene);
    let missing = api::missing();
    scene.close();
    match (outcome, missing) {
        (Err(Failure::Broken { .. }), Some(name)) => {
            Err(Failure::Skipped(format!("the driver has no {name}")))
        }
        (outcome, _) => outcome,
    }
}
