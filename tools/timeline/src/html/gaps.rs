//! The gaps of the device on the page, with their causes.

use crate::analysis::cause::Likely;
use crate::analysis::facts::Facts;
use crate::analysis::{Idle, idle};
use chapter_results::intervals::Recording;
use chapter_results::units;
use serde::Serialize;

/// How many gaps are listed, the longest first.
const MOST: usize = 30;

/// When the device was idle, and why.
#[derive(Serialize)]
pub(super) struct PageGaps {
    /// How much of the time, in a line.
    summary: String,
    /// The likely causes, each with its time, the longest first.
    causes: Vec<String>,
    /// The longest gaps.
    longest: Vec<PageGap>,
}

#[derive(Serialize)]
struct PageGap {
    start: u64,
    end: u64,
    /// The operations before it and behind it.
    between: (usize, usize),
    cause: String,
}

/// The gaps of a recording, unless the device was never idle.
pub(super) fn gaps(recording: &Recording, facts: &Facts) -> Option<PageGaps> {
    let Idle { gaps, causes } = idle(recording, facts);
    let number = gaps.longest.len();
    let share = gaps.total.as_secs_f64() / recording.makespan().as_secs_f64().max(1e-9);
    let all = crate::analysis::by_cause(&gaps, &causes).into_iter();
    let listed = gaps.longest.iter().zip(&causes).take(MOST);
    let listed = listed.map(|(gap, likely)| PageGap {
        start: gap.span.start,
        end: gap.span.end,
        between: (gap.before, gap.after),
        cause: cause(likely),
    });
    (number > 0).then(|| PageGaps {
        summary: format!(
            "The device was idle {} of the time: {} in {}",
            units::percent(share),
            units::time(gaps.total),
            units::counted(number, "gap")
        ),
        causes: all
            .map(|(cause, time, _)| format!("{}: {cause}", units::time(time)))
            .collect(),
        longest: listed.collect(),
    })
}

fn cause(likely: &Likely) -> String {
    match likely.evidence.as_str() {
        "" => likely.cause.to_string(),
        evidence => format!("{}: {evidence}", likely.cause),
    }
}
