//! What an order costs to write and to enqueue: lines of source, and calls that record events and wait for them.

use anyhow::{Result, bail};
use examples_host::prelude::*;

/// How often a program recorded an event, and made a stream wait for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderCalls {
    /// Calls of `cuEventRecord`.
    pub records: usize,
    /// Calls of `cuStreamWaitEvent`.
    pub waits: usize,
}

impl OrderCalls {
    /// Those of a recorded run.
    pub fn of(recording: &Recording) -> Self {
        let count = |name: &str| recording.calls.iter().filter(|call| call.name == name).count();
        Self { records: count("cuEventRecord"), waits: count("cuStreamWaitEvent") }
    }
}

/// Prints, for each schedule, how many lines it takes to write and which calls for order a run makes.
pub fn show_order_calls(part: &mut Part, outcomes: &[MeasuredVariant; 3], lines: [usize; 3]) {
    let mut table = Table::new(["schedule", "lines", "records", "waits"]);
    for (MeasuredVariant { name, recording, .. }, lines) in outcomes.iter().zip(lines) {
        let OrderCalls { records, waits } = OrderCalls::of(recording);
        let figures = [lines, records, waits].map(|figure| figure.to_string());
        table.row([name.to_string()].into_iter().chain(figures));
    }
    part.say(table);
}

/// Lines of code of each schedule.
pub fn source_lines() -> Result<[usize; 3]> {
    let of = |name| lines_of_function(include_str!("../../pipeline.rs"), name);
    let lines = [of("by_hand"), of("capture"), of("derived")];
    let [Some(by_hand), Some(capture), Some(derived)] = lines else {
        bail!("a schedule has no lines: {lines:?}");
    };
    Ok([by_hand, capture, derived])
}

/// Lines of code of the function of this name, from its signature to its last brace: no comments, no empty lines. The source is
/// formatted as rustfmt does it. `None` without such a function.
fn lines_of_function(source: &str, name: &str) -> Option<usize> {
    let mut lines = source.lines();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let signature = format!("fn {name}(");
    let first = lines.by_ref().find(|line| line.contains(&signature))?;
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let ends = |line: &&str| indent(line) == indent(first) && line.trim() == "}";
    let body: Vec<&str> = lines.filter(is_code).collect();
    let last = body.iter().position(ends)?;
    Some(last + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
impl Work {
    /// A comment.
    fn first(&self) {
        // Another one.

        if true {
            call();
        }
    }

    fn second(
        &self,
    ) {
        call();
    }
}
";

    #[test]
    fn lines_of_code_are_counted_from_signature_to_brace() {
        assert_eq!(lines_of_function(SOURCE, "first"), Some(5));
        assert_eq!(lines_of_function(SOURCE, "second"), Some(5));
        assert_eq!(lines_of_function(SOURCE, "third"), None);
    }
}
