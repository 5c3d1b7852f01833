//! When engines work at the same time.

use chapter_results::intervals::{Engine, Recording, Span, intersection, total, union};

/// The time during which two or more engines were busy, as disjoint spans in order.
pub fn overlapped(recording: &Recording) -> Vec<Span> {
    let busy: Vec<Vec<Span>> = Engine::ALL.map(|engine| union(recording.of(engine))).into();
    let mut common = Vec::new();
    for (i, a) in busy.iter().enumerate() {
        for b in &busy[..i] {
            common.extend(intersection(a.iter().copied(), b.iter().copied()));
        }
    }
    union(common)
}

/// Its share of the whole: 0 when one engine worked at a time.
pub fn overlapped_share(recording: &Recording) -> f64 {
    let makespan = recording.makespan().as_nanos() as f64;
    if makespan == 0.0 {
        return 0.0;
    }
    total(&overlapped(recording)).as_nanos() as f64 / makespan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{interval, recording, three_way};

    #[test]
    fn two_engines_at_once_are_overlap_and_two_kernels_are_not() {
        let spans = overlapped(&three_way());
        let span = |start, end| Span { start, end };
        assert_eq!(
            spans,
            [
                span(20_500, 30_500),
                span(31_000, 40_000),
                span(40_500, 52_000)
            ]
        );
        let kernels = vec![
            interval(Engine::Kernel, "a", 0, 9),
            interval(Engine::Kernel, "b", 0, 9),
        ];
        assert_eq!(overlapped(&recording(kernels)), []);
        assert_eq!(overlapped_share(&recording(vec![])), 0.0);
        assert!((overlapped_share(&three_way()) - 30.5 / 71.0).abs() < 1e-12);
    }
}
