//! The device's idle time and the threads' calls, as the intervals show them, and what is claimed of them.

use super::{Feed, Loading};
use examples_host::expect::Expected;
use examples_host::intervals::{Span, total, union};
use examples_host::prelude::*;
use std::collections::HashSet;

/// The allowed difference between idle time and prediction, as a share of the time.
const TOLERANCE: f64 = 0.05;

/// The share of the time from the first kernel's start to the last one's end in which no kernel ran.
pub fn idle(recording: &Recording) -> f64 {
    let busy = union(recording.of(Engine::Kernel));
    let (Some(first), Some(last)) = (busy.first(), busy.last()) else {
        return 0.0;
    };
    let all = Span { start: first.start, end: last.end };
    1.0 - total(&busy).as_secs_f64() / total(&[all]).as_secs_f64()
}

/// The share of the copies in whose call returned only when they had ended: those of pageable memory block the thread. The first copy
/// of a thread does not count: the driver prepares itself for the thread in that call.
pub(super) fn blocking(recording: &Recording) -> f64 {
    let mut threads = HashSet::new();
    let (mut blocked, mut all) = (0_u32, 0_u32);
    for call in &recording.calls {
        let copy = call.interval.and_then(|at| recording.intervals.get(at));
        let Some(copy) = copy.filter(|copy| copy.engine == Engine::HostToDevice) else {
            continue;
        };
        if threads.insert(&call.thread) {
            continue;
        }
        let end = i64::try_from(copy.span.end).unwrap_or(i64::MAX);
        all += 1;
        blocked += u32::from(call.span.end >= end);
    }
    f64::from(blocked) / f64::from(all.max(1))
}

/// Prints the least time of each outcome, and its idle share beside the predicted one and the bound. Claims that the idle share
/// is the predicted one, that it is not below the bound, and that copies are asynchronous.
pub fn expect_loading<const N: usize>(
    part: &mut Part,
    outcomes: &[MeasuredVariant; N],
    feeds: [Feed; N],
    loading: &Loading,
) {
    let least = format!("least, {}", part.device().times());
    let mut table = Table::new(["variant", &least, "GPU idle", "predicted", "bound"]);
    for (outcome, feed) in outcomes.iter().zip(feeds) {
        let shares = [idle(&outcome.recording), loading.idle(feed), loading.bound(feed.threads)];
        let cells = [outcome.name.to_string(), units::time(outcome.times.min())];
        table.row(cells.into_iter().chain(shares.map(units::percent)));
    }
    part.say(table);
    for (outcome, feed) in outcomes.iter().zip(feeds) {
        let (name, found, predicted) =
            (&outcome.name, share(idle(&outcome.recording)), loading.idle(feed));
        let mut expect = |what: &str, sentence: &str, expected: Expected| {
            let sentence = format!("{name}: {sentence}");
            let expected = expected.in_records_of(&outcome.recording);
            part.expect(outcome.id(what), &sentence, expected);
        };
        let most = found.at_most(predicted + TOLERANCE);
        expect("idle-most", "the GPU is not idle for longer than predicted", most);
        let least = found.at_least(predicted - TOLERANCE);
        expect("idle-least", "the GPU is not idle for less than predicted", least);
        // A thread may be interrupted before its call returns.
        let returned = share(blocking(&outcome.recording)).at_most(0.2);
        expect("asynchronous", "copies in hold their thread up", returned);
        let bound = found.at_least(loading.bound(feed.threads) - TOLERANCE);
        expect("not-below-bound", "nor for less than its bound", bound);
    }
}
