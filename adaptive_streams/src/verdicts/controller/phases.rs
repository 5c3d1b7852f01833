//! When the work changes.

use crate::controller::PHASES;
use examples_host::prelude::*;
use std::array;
use std::ops::Range;

/// The rounds of each phase.
pub type Phases = [Range<usize>; PHASES];

/// A number that the controller does not know.
const SEED: Seed = Seed::new(62);

/// The rounds of three phases. Both changes come later than a third and two thirds of the rounds, by the same number, so that the
/// work is the same for every seed. A controller that takes each third for a phase chooses wrongly at the end of phase 0.
pub fn phases(per_phase: usize) -> Phases {
    let later = per_phase / 10 + SEED.u32(0) as usize % (per_phase / 5).max(1);
    let changes = [0, per_phase + later, 2 * per_phase + later, 3 * per_phase];
    array::from_fn(|phase| changes[phase]..changes[phase + 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_one_another_and_none_begins_at_a_third() {
        for per_phase in [1, 50, 100] {
            let [first, second, third] = phases(per_phase);
            assert_eq!((first.start, third.end), (0, 3 * per_phase));
            assert_eq!((first.end, second.end), (second.start, third.start));
            assert_eq!(second.len(), per_phase);
            assert!(first.end >= per_phase + per_phase / 10);
            assert!(third.len() >= per_phase - 3 * per_phase / 10);
        }
    }
}
