//! Whether short kernels get room beside a long one.

use super::Mark;
use super::checks::met;
use chapter_results::intervals::{Engine, Interval, Recording};
use chapter_results::units;

/// Whether the last launch of `kernel` ends within a share of the time of the first launch of `beside`, although that was launched
/// before.
pub(super) fn ends_early(recording: &Recording, kernel: &str, beside: &str, share: f64) -> Mark {
    let of = |name: &str| -> Vec<&Interval> {
        let all = recording.intervals.iter();
        all.filter(|own| own.engine == Engine::Kernel && own.name == name)
            .collect()
    };
    let (short, long) = (of(kernel), of(beside));
    let (Some(last), Some(long)) = (short.iter().map(|own| own.span.end).max(), long.first())
    else {
        return Mark::Missed(format!("{kernel} and {beside} did not both run"));
    };
    if enqueued(recording, kernel) < enqueued(recording, beside) {
        return Mark::Missed(format!(
            "{kernel} is launched before {beside}: it has to get room beside a grid that runs"
        ));
    }
    let time = last.saturating_sub(long.span.start) as f64;
    let reached = time / (long.span.nanoseconds() as f64).max(1.0);
    met(
        reached <= share,
        format!(
            "the last {kernel} ends when {} of {beside} is over, at most {} allowed",
            units::percent(reached),
            units::percent(share)
        ),
    )
}

/// The time of the host's first call for a kernel or, without recorded calls, of its first run.
fn enqueued(recording: &Recording, kernel: &str) -> Option<i64> {
    let named = |place: usize| {
        let interval = recording.intervals.get(place);
        interval.is_some_and(|own| own.engine == Engine::Kernel && own.name == kernel)
    };
    let calls = recording.calls.iter();
    let launches = calls.filter(|call| call.interval.is_some_and(named));
    let first = launches.map(|call| call.span.start).min();
    first.or_else(|| {
        let all = recording.intervals.iter().enumerate();
        let own = all.filter(|(place, _)| named(*place));
        own.map(|(_, own)| own.span.start.cast_signed()).min()
    })
}
