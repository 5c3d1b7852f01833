//! How much of one stream's time others use as well: what blocking and non-blocking streams differ in.

use crate::intervals::{Recording, intersection, overlapped_share, total, union};

/// The share of the operations' time in all streams but `stream` during which another of these operations runs: 1 when none
/// is ever alone. `None` when all operations are in `stream`.
pub fn others_together(recording: &Recording, stream: &str) -> Option<f64> {
    let others = recording.spans(|interval| interval.stream != stream);
    (!others.is_empty()).then(|| overlapped_share(others))
}

/// The share of `stream`'s operations' time during which any other operation runs.
pub fn beside(recording: &Recording, stream: &str) -> f64 {
    let own = recording.on(stream);
    let others = recording.spans(|interval| interval.stream != stream);
    if others.is_empty() {
        return overlapped_share(own);
    }
    let shared = total(&intersection(own.iter().copied(), others));
    shared.as_secs_f64() / total(&union(own)).as_secs_f64()
}

/// The share of the time of two streams' operations, whichever is shorter, during which the other stream works too.
pub fn together(recording: &Recording, one: &str, other: &str) -> f64 {
    let (one, other) = (union(recording.on(one)), union(recording.on(other)));
    let shorter = total(&one).min(total(&other)).as_secs_f64();
    let shared = total(&intersection(one, other)).as_secs_f64();
    shared / shorter.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{Engine, Interval, Source, Span};

    fn recording(spans: &[(&str, u64, u64)]) -> Recording {
        let interval = |&(stream, start, end): &(&str, u64, u64)| Interval {
            device: 0,
            engine: Engine::Kernel,
            name: "kernel".to_owned(),
            stream: stream.to_owned(),
            span: Span { start, end },
            bytes: 0,
        };
        Recording::new(Source::SoftwareGpu, spans.iter().map(interval).collect())
    }

    #[test]
    fn shares_are_of_the_streams_named() {
        let recording = recording(&[("a", 0, 10), ("b", 0, 10), ("legacy", 8, 18)]);
        assert_eq!(others_together(&recording, "legacy"), Some(1.0));
        assert_eq!(beside(&recording, "legacy"), 0.2);
    }

    #[test]
    fn two_streams_share_the_time_of_the_shorter() {
        let recording = recording(&[("a", 0, 10), ("b", 5, 25), ("a", 20, 30), ("c", 40, 50)]);
        assert_eq!(together(&recording, "a", "b"), 0.5);
        assert_eq!(together(&recording, "b", "a"), 0.5);
        assert_eq!(together(&recording, "a", "c"), 0.0);
        assert_eq!(together(&recording, "a", "x"), 0.0);
    }

    #[test]
    fn a_stream_alone_is_compared_with_itself() {
        let recording = recording(&[("legacy", 0, 10), ("legacy", 10, 20)]);
        assert_eq!(others_together(&recording, "legacy"), None);
        assert_eq!(beside(&recording, "legacy"), 0.0);
    }
}
