//! What the intervals of a chain say: whether its order was kept, and how long a stage stood still.

use examples_host::intervals::Span;
use examples_host::prelude::*;

/// Clocks of a kernel's and a copy's records may differ by so much.
const TOLERANCE_NS: u64 = 1000;

/// How many hand-overs between consecutive `streams` came too early, and how many there were: the k-th operation of a
/// stream must not start before the k-th of the stream before it has ended.
pub fn disorder(recording: &Recording, streams: [&str; 3]) -> (usize, usize) {
    let stages = streams.map(|stream| recording.on(stream));
    let pairs = stages
        .windows(2)
        .flat_map(|pair| pair[0].iter().zip(&pair[1]));
    let early: Vec<bool> = pairs
        .map(|(before, after)| after.start + TOLERANCE_NS < before.end)
        .collect();
    (early.iter().filter(|&&early| early).count(), early.len())
}

/// The share of a stage's time, from its first start to its last end, in which it did nothing.
pub fn idle_share(spans: &[Span]) -> f64 {
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else {
        return 0.0;
    };
    let busy: u64 = spans.iter().map(|span| span.nanoseconds()).sum();
    1.0 - busy as f64 / (last.end - first.start).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use examples_host::intervals::{Interval, Source};

    fn interval(stream: &str, start: u64, end: u64) -> Interval {
        Interval {
            engine: Engine::Kernel,
            name: "k".into(),
            stream: stream.into(),
            span: Span { start, end },
            bytes: 0,
        }
    }

    #[test]
    fn a_stage_that_starts_too_early_is_counted() {
        let recording = Recording::new(
            Source::SoftwareGpu,
            vec![
                interval("a", 0, 10_000),
                interval("b", 10_000, 20_000),
                interval("c", 20_000, 30_000),
                interval("a", 10_000, 20_000),
                interval("b", 18_000, 30_000),
                interval("c", 30_000, 40_000),
            ],
        );
        assert_eq!(disorder(&recording, ["a", "b", "c"]), (1, 4));
    }

    #[test]
    fn idle_is_what_lies_between_the_operations() {
        let span = |start, end| Span { start, end };
        assert_eq!(idle_share(&[span(5, 10), span(15, 20), span(20, 25)]), 0.25);
        assert_eq!(idle_share(&[]), 0.0);
    }
}
