//! What choosing while a program runs is worth: phases of the work, fixed choices, a controller, and the replay of its log.
//!
//! The *regret* of a run is what it takes more than the best fixed choice of each phase would have taken, as a share.

use std::array;
use std::time::Duration;

/// What `P` phases took with `F` fixed choices, with a controller, and with its log replayed: the least of all runs, since what
/// disturbs one run does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regret<const P: usize, const F: usize> {
    pub(super) fixed: [[Duration; P]; F],
    pub(super) controller: [Duration; P],
    pub(super) replay: [Duration; P],
}

impl<const P: usize, const F: usize> Regret<P, F> {
    /// One entry per run, in which the variants alternated: the fixed choices, the controller, the replay.
    pub fn of(runs: &[[Duration; P]]) -> Self {
        let least = |variant: usize, phase: usize| {
            let own = runs.iter().skip(variant).step_by(F + 2);
            own.map(|phases| phases[phase]).min().unwrap_or_default()
        };
        let of = |variant| array::from_fn(|phase| least(variant, phase));
        Self { fixed: array::from_fn(of), controller: of(F), replay: of(F + 1) }
    }

    /// The least time of a phase with a fixed choice.
    pub(super) fn best(&self, phase: usize) -> Duration {
        let times = self.fixed.iter().map(|phases| phases[phase]);
        times.min().unwrap_or_default()
    }

    /// How much longer than the best a fixed choice takes for a phase: 1 for the best.
    pub fn beside_best(&self, choice: usize, phase: usize) -> f64 {
        self.fixed[choice][phase].div_duration_f64(self.best(phase))
    }

    /// How much longer than the best choice of each phase these phases take, as a share.
    pub(super) fn regret(&self, phases: &[Duration; P]) -> f64 {
        let best: Duration = (0..P).map(|phase| self.best(phase)).sum();
        phases.iter().sum::<Duration>().div_duration_f64(best) - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regret_is_beside_the_best_choice_of_each_phase() {
        let ms = |times: [u64; 2]| times.map(Duration::from_millis);
        let first = [[12, 50], [30, 20], [14, 22], [13, 21]].map(ms);
        // Once more, with a disturbance of the second fixed choice.
        let second = [[13, 50], [90, 25], [14, 22], [13, 21]].map(ms);
        let regret = Regret::<2, 2>::of(&[first, second].concat());
        assert_eq!(regret.fixed, [ms([12, 50]), ms([30, 20])]);
        assert_eq!(regret.regret(&regret.controller), 0.125);
        assert_eq!(regret.regret(&regret.fixed[1]), 0.5625);
        assert_eq!(regret.beside_best(0, 1), 2.5);
    }
}
