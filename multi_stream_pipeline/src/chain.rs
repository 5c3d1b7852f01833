//! How fast a chain of stages can be.

use std::time::Duration;

/// The least time for `chunks` equal chunks through stages that take `stages` for all of them: one chunk's way through
/// all stages, and the slowest stage once for each other chunk.
pub fn bound(stages: [Duration; 3], chunks: usize) -> Duration {
    let chunks = chunks as f64;
    let slowest = stages.into_iter().max().unwrap_or_default();
    stages.iter().sum::<Duration>().div_f64(chunks) + slowest.mul_f64((chunks - 1.0) / chunks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_chunk_takes_the_sum_and_many_take_the_slowest_stage() {
        let stages = [30, 60, 10].map(Duration::from_micros);
        assert_eq!(bound(stages, 1), Duration::from_micros(100));
        assert_eq!(bound(stages, 10), Duration::from_micros(64));
    }
}
