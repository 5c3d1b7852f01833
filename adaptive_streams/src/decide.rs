//! The decision: which number of streams, given how long a kernel takes. No call of the driver is made here.
//!
//! A round brings a fixed amount of data through the device, a chunk for each stream. With S streams it takes the longer of
//!
//! - its *floor*: what copies and the host's calls take, whatever the kernel; many small chunks make it higher;
//! - a chunk's *way*: copy in, kernel, copy out, one after the other, since all S chunks are on their way at the same time.
//!
//! Both are measured once for each number of streams, with a kernel that takes next to nothing. A kernel's time is in proportion
//! to its chunk. So one measured kernel predicts the round with every number of streams, and the least prediction wins.

use std::time::Duration;

/// Numbers of streams to choose from.
pub const CHOICES: [usize; 4] = [2, 4, 8, 16];

/// The number of streams before anything is known.
pub const FIRST: usize = 2;

/// What a change must gain at least, as a share: less is noise.
const WORTH: f64 = 0.05;

/// What a round takes with one of the numbers of streams, apart from its kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// The whole round.
    pub round: Duration,
    /// A chunk's way through the device, when there is no other.
    pub way: Duration,
}

/// With each of [`CHOICES`].
pub type Floors = [Floor; CHOICES.len()];

/// What an event pair has measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telemetry {
    /// The round of the kernel.
    pub round: usize,
    /// The number of streams then.
    pub streams: usize,
    /// How long the kernel of a chunk took.
    pub kernel: Duration,
}

/// A decision, with all that it was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The first round for which it holds.
    pub round: usize,
    /// The number of streams before.
    pub before: usize,
    /// What was measured.
    pub telemetry: Telemetry,
    /// What a round is predicted to take with each of [`CHOICES`].
    pub predicted: [Duration; CHOICES.len()],
    /// The number of streams from now on.
    pub streams: usize,
}

/// What a round is predicted to take with each number of streams.
fn predict(floors: &Floors, telemetry: Telemetry) -> [Duration; CHOICES.len()] {
    std::array::from_fn(|choice| {
        // The chunk's size if the data were divided so.
        let kernel = telemetry.kernel * telemetry.streams as u32 / CHOICES[choice] as u32;
        floors[choice].round.max(floors[choice].way + kernel)
    })
}

/// Decides for `round` and those after it.
pub fn decide(floors: &Floors, telemetry: Telemetry, (round, before): (usize, usize)) -> Decision {
    let predicted = predict(floors, telemetry);
    let of = |streams| CHOICES.iter().position(|&choice| choice == streams).map(|at| predicted[at]);
    let best = CHOICES.into_iter().min_by_key(|&streams| of(streams)).unwrap_or(before);
    let gains = match (of(best), of(before)) {
        (Some(best), Some(now)) => best.as_secs_f64() < (1.0 - WORTH) * now.as_secs_f64(),
        _ => true,
    };
    let streams = if gains { best } else { before };
    Decision { round, before, telemetry, predicted, streams }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    /// Few streams keep a long way, many a high floor.
    fn floors() -> [Floor; 4] {
        [(55, 55), (48, 36), (82, 26), (164, 21)]
            .map(|(round, way)| Floor { round: us(round), way: us(way) })
    }

    fn decided(streams: usize, kernel: u64) -> Decision {
        let telemetry = Telemetry { round: 0, streams, kernel: us(kernel) };
        decide(&floors(), telemetry, (2, streams))
    }

    #[test]
    fn long_kernels_ask_for_more_streams_and_short_ones_for_fewer() {
        assert_eq!(decided(2, 4).streams, 4);
        assert_eq!(decided(4, 76).streams, 8);
        assert_eq!(decided(8, 5).streams, 4);
        assert_eq!(decided(2, 2000).streams, 16);
    }

    #[test]
    fn a_kernel_is_as_long_as_its_chunk() {
        // The same work, seen with 4 and with 8 streams.
        assert_eq!(decided(4, 80).predicted, decided(8, 40).predicted);
    }

    #[test]
    fn what_gains_next_to_nothing_is_left_alone() {
        let near = decided(2, 4);
        assert_eq!((near.streams, near.predicted[0], near.predicted[1]), (4, us(59), us(48)));
        let mut floors = floors();
        floors[1].round = us(57);
        let telemetry = Telemetry { round: 0, streams: 2, kernel: us(4) };
        assert_eq!(decide(&floors, telemetry, (2, 2)).streams, 2);
    }
}
