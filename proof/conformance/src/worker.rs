//! Checks rules in this process and reports each on one line.

use std::any::Any;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::api;
use crate::cu;
use crate::rule::{Failure, Outcome, Reason, Rule};
use crate::scene::Scene;

/// How a rule ended, as the worker reports it to the supervisor: one letter, a tab, the text on one line.
pub(crate) const PASSED: &str = "P";
pub(crate) const FAILED: &str = "F";
pub(crate) const SKIPPED: &str = "S";
pub(crate) const UNEXPECTED: &str = "U";

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
            Err(Failure::Skipped(reason)) if reason.is_expected() => (SKIPPED, reason.to_string()),
            Err(Failure::Skipped(reason)) => (UNEXPECTED, reason.to_string()),
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
            Ok(Err(panic)) | Err(panic) => Err(Failure::Panicked(message(&*panic))),
        }
    })
}

/// A panic's message.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no text").to_owned()
}

fn check(rule: &Rule) -> Outcome {
    let mut scene = Scene::open()?;
    let outcome = (rule.check)(&mut scene);
    let missing = api::missing();
    scene.close();
    match (outcome, missing) {
        (Err(Failure::Broken { .. }), Some(name)) => {
            Err(Failure::Skipped(Reason::missing(name, driver_version())))
        }
        (outcome, _) => outcome,
    }
}

/// The driver's version of CUDA; 0 when the driver does not say.
fn driver_version() -> i32 {
    let mut version = 0;
    // 0 stays when the call fails.
    let _ = cu!(cuDriverGetVersion(&mut version));
    version
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::API_VERSION;
    use crate::{device, rule};

    const FAMILY: &str = "worker";

    fn passes(_: &mut Scene) -> Outcome {
        Ok(())
    }

    fn panics(_: &mut Scene) -> Outcome {
        panic!("in the rule")
    }

    fn panics_on_a_thread(_: &mut Scene) -> Outcome {
        rule::on_thread(|| panic!("on a thread"))
    }

    fn fails_on_a_thread(_: &mut Scene) -> Outcome {
        rule::on_thread(|| rule::same(&1, &2, "a number"))
    }

    fn lacks_a_property(_: &mut Scene) -> Outcome {
        Err(Failure::device("the device has no clusters"))
    }

    fn lacks_a_device(_: &mut Scene) -> Outcome {
        Err(Failure::Skipped(Reason::OneDevice))
    }

    fn gives_up(_: &mut Scene) -> Outcome {
        Err(Failure::skipped("no reason"))
    }

    /// The software GPU has every function that a rule calls, so this one is as good as missing.
    fn calls_a_missing_function(_: &mut Scene) -> Outcome {
        api::noted(api::NOT_SUPPORTED, "cuNoSuchFunction");
        rule::same(&1, &2, "a number")
    }

    fn letter_and_text(rule: Rule) -> String {
        device::select().expect("the software GPU");
        let mut report = Vec::new();
        work([&rule], &mut report).expect("a vector takes every line");
        String::from_utf8(report).expect("the report is text")
    }

    macro_rules! report {
        ($check:ident) => {
            letter_and_text(rule!($check, "none", "A rule."))
        };
    }

    #[test]
    fn a_panic_is_a_failure_on_whatever_thread_of_the_rule() {
        assert_eq!(report!(passes), "P\t\n");
        assert_eq!(report!(panics), "F\tthe check panicked: in the rule\n");
        assert_eq!(
            report!(panics_on_a_thread),
            "F\tthe check panicked: on a thread\n"
        );
        assert!(report!(fails_on_a_thread).starts_with("F\ta number: expected 2, came 1"));
    }

    #[test]
    fn skips_are_expected_when_the_machine_explains_them() {
        assert_eq!(report!(lacks_a_property), "S\tthe device has no clusters\n");
        assert_eq!(report!(lacks_a_device), "S\tthere is one device only\n");
        assert_eq!(report!(gives_up), "U\tno reason\n");
    }

    #[test]
    fn a_missing_function_is_expected_of_an_older_driver_alone() {
        assert_eq!(
            report!(calls_a_missing_function),
            "U\tthe driver has no cuNoSuchFunction\n"
        );
        let reason = |version| Reason::missing("cuNoSuchFunction", version);
        assert!(!reason(API_VERSION).is_expected());
        assert!(reason(API_VERSION - 10).is_expected());
        let text = "the driver, of CUDA 12.9, has no cuNoSuchFunction";
        assert_eq!(reason(12_090).to_string(), text);
    }
}
