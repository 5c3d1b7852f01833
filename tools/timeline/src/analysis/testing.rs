//! Recordings for tests.

use chapter_results::intervals::{Engine, Interval, Recording, Source, Span};
use proptest::prelude::*;

/// An operation named after its engine.
pub fn operation(engine: Engine, stream: &str, start: u64, end: u64) -> Interval {
    Interval {
        device: 0,
        engine,
        name: engine.to_string(),
        stream: stream.to_owned(),
        span: Span { start, end },
        bytes: 0,
    }
}

/// These operations on a GPU.
pub fn recording(operations: impl IntoIterator<Item = Interval>) -> Recording {
    Recording::new(Source::Cupti, operations.into_iter().collect())
}

/// Any operations in four streams, within 260 ns.
pub fn recordings() -> impl Strategy<Value = Recording> {
    let one = (0..Engine::ALL.len(), 0..4usize, 0..220u64, 0..40u64);
    prop::collection::vec(one, 0..24).prop_map(|all| {
        recording(all.into_iter().map(|(engine, stream, start, length)| {
            let name = ["a", "b", "c", "legacy"][stream];
            operation(Engine::ALL[engine], name, start, start + length)
        }))
    })
}
