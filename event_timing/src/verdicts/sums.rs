//! The numbers that chains of steps start from, and the sums that they come to.

use examples_host::prelude::Seed;

const DATA: Seed = Seed::new(6);
/// What a step adds to each number. The sum tells how many additions there were.
const SUMMAND: f32 = 1.0 / 4096.0;

const _: () = assert!(SUMMAND == crate::synchronisation::SUMMAND);
const _: () = assert!(SUMMAND == crate::over_synchronisation::SUMMAND);

/// `count` numbers from this index on.
pub fn given(first: usize, count: usize) -> Vec<f32> {
    (first..first + count).map(|index| DATA.f32(index)).collect()
}

/// What the number of this index comes to.
pub fn sum(index: usize, additions: u32) -> f32 {
    (0..additions).fold(DATA.f32(index), |x, _| x + SUMMAND)
}
