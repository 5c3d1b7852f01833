//! What is found out before the run: the floors of each number of streams, and a kernel that is long on this device.

use super::known::CheckedRounds;
use crate::controller::{Rounds, Size};
use crate::decide::{CHOICES, Floor, Floors};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;
use std::array;

/// Rounds of a calibration.
pub const CALIBRATION: usize = 16;
/// The grid of a short kernel.
pub const SHORT: Size = (8, 256);
/// The grids of a long one. Which of them is long depends on the device: on its clock, and on the link that copies take.
pub const LONG: [Size; 4] = [(1, 96), (1, 64), (1, 48), (1, 32)];
/// How much longer a chunk's way with a long kernel and four streams takes than a round with eight streams would without kernels.
const LONGER: f64 = 1.2;

/// What a round and a chunk's way take with each number of streams and a short kernel.
pub fn calibrate(part: &Part, rounds: &mut Rounds, streams: &[Stream]) -> Result<Floors> {
    let mut floors = [Floor::default(); CHOICES.len()];
    for (floor, count) in floors.iter_mut().zip(CHOICES) {
        let all = || rounds.run(CALIBRATION, |_, _| Ok((count, false)));
        floor.round = part.alone(streams, all)? / CALIBRATION as u32;
        floor.way = part.alone(streams, || rounds.chunk(0, 0..count, false))?;
    }
    Ok(floors)
}

/// Chooses the grid of the long kernel, the largest with which more streams pay: with four, a chunk's way takes clearly longer than a
/// round of eight streams would if kernels took nothing.
pub fn lengthen(
    part: &Part,
    CheckedRounds { rounds, phases, .. }: &mut CheckedRounds,
    streams: &[Stream],
    floors: &Floors,
) -> Result<()> {
    let [_, (four, _), (_, eight), _] = array::from_fn(|at| (CHOICES[at], floors[at].round));
    for grid in LONG {
        rounds.grids[1] = grid;
        let way = part.alone(streams, || rounds.chunk(phases[1].start, 0..four, false))?;
        if way.div_duration_f64(eight) >= LONGER {
            break;
        }
    }
    Ok(())
}

/// What eight streams lose, about, as a share of the time: they are wrong in the two phases with short kernels, of three.
pub fn at_stake(floors: &Floors) -> f64 {
    let [_, four, eight, _] = floors.map(|floor| floor.round);
    2.0 / 3.0 * (eight.div_duration_f64(four) - 1.0)
}

/// The prediction, from the floors.
pub fn predicted(floors: &Floors) -> String {
    let of = |(count, floor): (usize, &Floor)| {
        format!("{count} streams: {}, way {}", units::time(floor.round), units::time(floor.way))
    };
    let all: Vec<String> = CHOICES.into_iter().zip(floors).map(of).collect();
    format!(
        "A round with a short kernel, and a chunk's way: {}. A round takes the longer of the two, and a long kernel is part of \
         the way. So short kernels ask for few streams, long ones for many.",
        all.join("; ")
    )
}
