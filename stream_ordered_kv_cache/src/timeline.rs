//! What is read off the intervals: idle time between updates, what runs beside what, and one stretch of them.

use examples_host::intervals::{Interval, Span, intersection, total, union};
use examples_host::prelude::*;
use examples_host::statistics::Durations;
use gpu_kernels::Signature as _;
use std::ops::Range;
use std::time::Duration;

/// For each two updates that follow one another, the time from the end of the first to the start of the second during
/// which no operation was running. `None` when there are not two.
pub fn idle_between_updates(recording: &Recording) -> Option<Durations> {
    let updates = recording.spans(|interval| interval.name == gpu_kernels::append_kv::NAME);
    let busy = union(recording.spans(|_| true));
    let idle = |pair: &[Span]| {
        let between = Span {
            start: pair[0].end,
            end: pair[1].start.max(pair[0].end),
        };
        let worked = total(&intersection([between], busy.iter().copied()));
        Duration::from_nanos(between.nanoseconds()) - worked
    };
    Durations::new(updates.windows(2).map(idle).collect())
}

/// The share of the time in which kernels of one name ran during which one of the other name ran too.
pub fn beside(recording: &Recording, name: &str, other: &str) -> f64 {
    let spans = |name: &str| union(recording.spans(|interval| interval.name == name));
    let (own, both) = (spans(name), intersection(spans(name), spans(other)));
    total(&both).as_secs_f64() / total(&own).as_secs_f64().max(f64::MIN_POSITIVE)
}

/// What began between two operations of a kind, which are given by their numbers: from the start of the one up to the
/// start of the other.
pub fn stretch(
    recording: &Recording,
    kind: impl Fn(&Interval) -> bool,
    numbers: Range<usize>,
) -> Recording {
    let starts: Vec<u64> = recording
        .spans(kind)
        .iter()
        .map(|span| span.start)
        .collect();
    let at = |number: usize| starts.get(number).copied().unwrap_or(u64::MAX);
    let within = at(numbers.start)..at(numbers.end);
    let intervals = recording.intervals.iter();
    let within = intervals.filter(|interval| within.contains(&interval.span.start));
    Recording::new(recording.source.clone(), within.cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use examples_host::intervals::Source;

    fn recording(spans: &[(&str, u64, u64)]) -> Recording {
        let interval = |&(name, start, end): &(&str, u64, u64)| Interval {
            engine: Engine::Kernel,
            name: name.to_owned(),
            stream: "stream".to_owned(),
            span: Span { start, end },
            bytes: 0,
        };
        Recording::new(Source::SoftwareGpu, spans.iter().map(interval).collect())
    }

    #[test]
    fn only_time_without_any_operation_is_idle() {
        let (update, other) = (
            gpu_kernels::append_kv::NAME,
            gpu_kernels::paged_attention::NAME,
        );
        let found = idle_between_updates(&recording(&[
            (update, 0, 10),
            (other, 15, 40),
            (update, 42, 50),
            (other, 45, 60),
            (update, 55, 65),
            (update, 65, 70),
        ]));
        let idle = found.map(|found| found.sorted().to_vec());
        assert_eq!(idle, Some([0, 0, 7].map(Duration::from_nanos).to_vec()));
        assert!(idle_between_updates(&recording(&[(update, 0, 10)])).is_none());
    }

    #[test]
    fn a_stretch_holds_what_began_in_it_and_begins_at_zero() {
        let all = recording(&[
            ("a", 0, 10),
            ("b", 5, 9),
            ("a", 20, 40),
            ("b", 25, 90),
            ("a", 50, 60),
        ]);
        let names = |recording: &Recording| {
            let names = recording
                .intervals
                .iter()
                .map(|interval| interval.name.clone());
            names.collect::<Vec<_>>()
        };
        let second = stretch(&all, |interval| interval.name == "a", 1..2);
        assert_eq!(names(&second), ["a", "b"]);
        assert_eq!(second.intervals[0].span, Span { start: 0, end: 20 });
        let rest = stretch(&all, |interval| interval.name == "a", 1..9);
        assert_eq!(names(&rest), ["a", "b", "a"]);
    }

    #[test]
    fn the_share_beside_another_kernel_is_of_the_own_time() {
        let recording = recording(&[("a", 0, 10), ("b", 5, 25), ("a", 20, 30), ("c", 0, 30)]);
        assert_eq!(beside(&recording, "a", "b"), 0.5);
        assert_eq!(beside(&recording, "b", "c"), 1.0);
        assert_eq!(beside(&recording, "x", "a"), 0.0);
    }
}
