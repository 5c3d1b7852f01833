//! A part of a long recording.

use crate::analysis::facts::{Facts, TimedHostCall};
use chapter_results::intervals::{Recording, Span};
use std::time::Duration;

/// The operations that run within a span, at least partly, with what is known of them. The clock begins with the first of them;
/// returned is when that was.
pub fn within(recording: Recording, facts: Facts, window: Span) -> (Recording, Facts, u64) {
    let is_inside = |span: Span| span.start < window.end && span.end > window.start;
    let inside: Vec<bool> = (recording.intervals.iter())
        .map(|interval| is_inside(interval.span))
        .collect();
    let origin = (recording.intervals.iter().zip(&inside))
        .find(|(_, inside)| **inside)
        .map_or(0, |(interval, _)| interval.span.start);
    let recording = recording.only(|interval| is_inside(interval.span));
    let by = origin.cast_signed();
    let shifted = |call: TimedHostCall| TimedHostCall {
        start: call.start.saturating_sub(by),
        end: call.end.saturating_sub(by),
        ..call
    };
    let end = recording.makespan().as_nanos() as i64;
    let all_shifted = |calls: Vec<TimedHostCall>| -> Vec<TimedHostCall> {
        let calls = calls.into_iter().map(shifted);
        calls.filter(|call| call.start <= end).collect()
    };
    let mut operations = facts.operations;
    let mut places = inside.iter();
    operations.retain(|_| places.next().copied().unwrap_or(false));
    for operation in &mut operations {
        operation.call = operation.call.take().map(shifted);
    }
    let mut stream_waits = facts.stream_waits;
    for wait in &mut stream_waits {
        wait.at -= by;
    }
    let facts = Facts {
        operations,
        calls: all_shifted(facts.calls),
        host_waits: all_shifted(facts.host_waits),
        stream_waits,
        ..facts
    };
    (recording, facts, origin)
}

/// The span around the longest operation whose name has this in it: as much before it and behind it as it lasts, and 100 µs at
/// least.
pub fn around(recording: &Recording, name: &str) -> Option<Span> {
    let named = (recording.intervals.iter()).filter(|interval| interval.name.contains(name));
    let longest = named.max_by_key(|interval| {
        (
            interval.span.nanoseconds(),
            std::cmp::Reverse(interval.span.start),
        )
    })?;
    let least = Duration::from_micros(100).as_nanos() as u64;
    let margin = longest.span.nanoseconds().max(least);
    Some(Span {
        start: longest.span.start.saturating_sub(margin),
        end: longest.span.end.saturating_add(margin),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{interval, recording};
    use chapter_results::intervals::Engine::{HostToDevice, Kernel};

    #[test]
    fn a_window_has_what_runs_in_it_and_its_own_clock() {
        let whole = recording(vec![
            interval(HostToDevice, "a", 0, 100),
            interval(Kernel, "a", 100, 300),
            interval(Kernel, "a", 400, 500),
        ]);
        let mut facts = Facts::of(&whole);
        facts.operations[1].call = Some(TimedHostCall {
            name: "cuLaunchKernel".into(),
            thread: 0,
            start: 90,
            end: 95,
        });
        let window = Span {
            start: 150,
            end: 400,
        };
        let (cut, facts, origin) = within(whole.clone(), facts, window);
        assert_eq!((cut.intervals.len(), origin), (1, 100));
        assert_eq!(cut.intervals[0].span, Span { start: 0, end: 200 });
        let call = facts.operations[0].call.as_ref().unwrap();
        assert_eq!((facts.operations.len(), call.start), (1, -10));
        assert_eq!(around(&whole, "nothing of this name"), None);
    }
}
