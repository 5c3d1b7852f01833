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
    /// That time as a share of what the less busy of the two was busy: 1 is all that there could be.
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
