//! Reports name the lines that called the function in which an operation was submitted.

use std::sync::Arc;

use software_gpu::order::{Description, Finding, Locate, OperationId};

use crate::program::{A, B, BYTES, HOST, TestProgram, reads, writes};

/// A line of a helper, and the lines that led there.
struct Helper(Vec<String>);

impl Locate for Helper {
    fn locate(&self) -> Option<String> {
        Some("helper.rs:5".to_owned())
    }

    fn callers(&self) -> &[String] {
        &self.0
    }
}

/// A kernel through the helper, and a copy of the same bytes in another stream.
fn found(callers: &[&str]) -> Finding {
    let callers = callers.iter().map(|line| (*line).to_owned()).collect();
    let mut program = TestProgram::new();
    let kernel = OperationId(1000);
    let what = Description::new("kernel").at(Arc::new(Helper(callers)));
    program.checker.submitted(HOST, A, kernel, &[], what);
    program.execute(kernel, &writes(BYTES));
    program.run(B, "copy", &reads(BYTES));
    program.only_finding().clone()
}

#[test]
fn callers_have_a_line_below_the_side_that_they_called() {
    let text = found(&["step.rs:7", "main.rs:20"]).to_string();
    let line = "(helper.rs:5), writes\n  called:  from step.rs:7, from main.rs:20\n  second:  copy";
    assert!(text.contains(line), "{text}");
    let text = found(&[]).to_string();
    assert!(
        text.contains("(helper.rs:5), writes\n  second:  copy"),
        "{text}"
    );
    assert!(!text.contains("called:"), "{text}");
}

#[test]
fn of_many_callers_the_nearest_are_named() {
    let callers: Vec<String> = (0..8).map(|line| format!("main.rs:{line}")).collect();
    let callers: Vec<&str> = callers.iter().map(String::as_str).collect();
    let text = found(&callers).to_string();
    assert!(
        text.contains("from main.rs:4, from main.rs:5, and 2 more\n"),
        "{text}"
    );
    let text = found(&callers[..6]).to_string();
    assert!(text.contains("from main.rs:4, from main.rs:5\n"), "{text}");
}

/// Two calls of one helper lack an edge each.
#[test]
fn each_caller_of_a_helper_is_a_mistake_of_its_own() {
    let mistake = |callers: &[&str]| found(callers).mistake();
    assert_eq!(mistake(&["main.rs:7"]), mistake(&["main.rs:7"]));
    assert_ne!(mistake(&["main.rs:7"]), mistake(&["main.rs:9"]));
}
