//! What ran at the same time.

use chapter_results::intervals::{Engine, Recording};
use std::time::Duration;

/// One engine's part in a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Busy {
    /// The engine.
    pub engine: Engine,
    /// How many operations it ran.
    pub operations: usize,
    /// How long at least one of them was running.
    pub time: Duration,
    /// How many of them ran at once, at most.
    pub at_once: usize,
    /// The share of their summed time during which another of them ran too.
    pub together: f64,
}

/// Two engines' time together.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlap {
    /// The one, which comes first in [`Engine::ALL`].
    pub first: Engine,
    /// The other.
    pub second: Engine,
    /// How long operations of both were running at the same time.
    pub time: Duration,
    /// That time as a share of the busy time of the less busy engine: 1 is the maximum.
    pub of_shorter: f64,
}

/// The engines that ran anything, in the order of [`Engine::ALL`].
pub fn busy(recording: &Recording) -> Vec<Busy> {
    let of = |engine| Busy {
        engine,
        operations: recording.of(engine).len(),
        time: recording.busy(engine),
        at_once: recording.max_concurrency(engine),
        together: recording.overlapped_share(engine),
    };
    let all = Engine::ALL.into_iter().map(of);
    all.filter(|busy| busy.operations > 0).collect()
}

/// Each pair of engines that both ran anything.
pub fn overlaps(recording: &Recording) -> Vec<Overlap> {
    let engines = busy(recording);
    let mut pairs = Vec::new();
    for (place, first) in engines.iter().enumerate() {
        for second in &engines[place + 1..] {
            let time = recording.overlap(first.engine, second.engine);
            let shorter = first.time.min(second.time);
            pairs.push(Overlap {
                first: first.engine,
                second: second.engine,
                time,
                of_shorter: share(time, shorter),
            });
        }
    }
    pairs
}

/// A part of a whole; 0 of nothing.
fn share(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() {
        return 0.0;
    }
    part.as_secs_f64() / whole.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{operation, recording, recordings};
    use proptest::prelude::*;

    #[test]
    fn the_share_is_of_the_less_busy_engine() {
        let recording = recording([
            operation(Engine::HostToDevice, "a", 0, 100),
            operation(Engine::Kernel, "b", 90, 110),
            operation(Engine::Kernel, "c", 100, 110),
        ]);
        let [pair] = &overlaps(&recording)[..] else {
            panic!()
        };
        assert_eq!(
            (pair.first, pair.second),
            (Engine::HostToDevice, Engine::Kernel)
        );
        assert_eq!(
            (pair.time, pair.of_shorter),
            (Duration::from_nanos(10), 0.5)
        );
        assert_eq!(busy(&recording)[1].at_once, 2);
    }

    proptest! {
        #[test]
        fn overlap_is_what_one_sees_nanosecond_by_nanosecond(recording in recordings()) {
            let runs = |engine, time| {
                let mut all = recording.intervals.iter();
                all.any(|i| i.engine == engine && i.span.start <= time && time < i.span.end)
            };
            let pairs = overlaps(&recording);
            let engines = busy(&recording).len();
            prop_assert_eq!(pairs.len(), engines * engines.saturating_sub(1) / 2);
            for pair in pairs {
                let count = |which: &dyn Fn(u64) -> bool| (0..400).filter(|&time| which(time)).count() as u64;
                let both = count(&|time| runs(pair.first, time) && runs(pair.second, time));
                let shorter = count(&|time| runs(pair.first, time)).min(count(&|time| runs(pair.second, time)));
                prop_assert_eq!(pair.time, Duration::from_nanos(both));
                let share = if shorter == 0 { 0.0 } else { both as f64 / shorter as f64 };
                prop_assert!((pair.of_shorter - share).abs() < 1e-9);
            }
        }
    }
}
