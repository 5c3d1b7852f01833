//! What choosing while a program runs is worth: phases of the work, fixed choices, a controller, and the replay of its log.
//!
//! The *regret* of a run is what it takes more than the best fixed choice of each phase would have taken, as a share.

use crate::expect::{ratio, share};
use crate::measure::Outcome;
use crate::part::Part;
use crate::table::Table;
use crate::units;
use std::array;
use std::time::Duration;

/// What must be at stake, as a share of the time, for a controller to pay.
const WORTH_IT: f64 = 0.05;

/// What `P` phases took with `F` fixed choices, with a controller, and with its log replayed: the least of all runs, since what
/// disturbs one run does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regret<const P: usize, const F: usize> {
    fixed: [[Duration; P]; F],
    controller: [Duration; P],
    replay: [Duration; P],
}

impl<const P: usize, const F: usize> Regret<P, F> {
    /// Of all runs, in which the variants took turns: the fixed choices, the controller, the replay.
    pub fn of(runs: &[[Duration; P]]) -> Self {
        let least = |variant: usize, phase: usize| {
            let own = runs.iter().skip(variant).step_by(F + 2);
            own.map(|phases| phases[phase]).min().unwrap_or_default()
        };
        let of = |variant| array::from_fn(|phase| least(variant, phase));
        Self {
            fixed: array::from_fn(of),
            controller: of(F),
            replay: of(F + 1),
        }
    }

    /// The least time of a phase with a fixed choice.
    fn best(&self, phase: usize) -> Duration {
        let times = self.fixed.iter().map(|phases| phases[phase]);
        times.min().unwrap_or_default()
    }

    /// How much longer than the best a fixed choice takes for a phase: 1 for the best.
    pub fn beside_best(&self, choice: usize, phase: usize) -> f64 {
        self.fixed[choice][phase].div_duration_f64(self.best(phase))
    }

    /// How much longer than the best choice of each phase these phases take, as a share.
    fn regret(&self, phases: &[Duration; P]) -> f64 {
        let best: Duration = (0..P).map(|phase| self.best(phase)).sum();
        phases.iter().sum::<Duration>().div_duration_f64(best) - 1.0
    }
}

impl Part<'_> {
    /// Prints what the phases took with each variant, and the bound of a phase; claims that the controller's regret is at most
    /// 5 %, that it beats the fixed choices, that on the model its telemetry takes at most 1 % of the time, and that it is not
    /// faster than the bound. Of `at_stake`, the share of the time that the best fixed choice is predicted to lose, the controller
    /// gains half, but no more than 5 % are asked for. Where less than 5 % is at stake, nothing is claimed.
    pub fn expect_regret<const P: usize, const F: usize>(
        &mut self,
        regret: &Regret<P, F>,
        outcomes: &[Outcome],
        bound: Duration,
        at_stake: f64,
    ) {
        self.show_regret(regret, outcomes, bound);
        let own = regret.regret(&regret.controller);
        let sentence = "controller: regret beside the best choice of each phase";
        self.expect("regret/controller", sentence, share(own).at_most(0.05));
        let all = regret.fixed.map(|phases| regret.regret(&phases));
        let [best, worst] =
            [f64::min, f64::max].map(|of| all.into_iter().reduce(of).unwrap_or_default());
        let gain = |fixed: f64| ratio((1.0 + fixed) / (1.0 + own));
        let sentence = "best fixed choice to controller";
        if at_stake >= WORTH_IT {
            let least = 1.0 + WORTH_IT.min(at_stake / 2.0);
            self.expect("gain/best-fixed", sentence, gain(best).at_least(least));
        } else {
            let at_stake = units::percent(at_stake);
            self.say(format!(
                "Not claimed of this device: the controller beats the best fixed choice. That one is predicted to lose\n\
                 {at_stake} of the time, and learning takes as much."
            ));
        }
        let sentence = "worst fixed choice to controller";
        self.expect("gain/worst-fixed", sentence, gain(worst).at_least(1.5));
        let [.., controller, replay] = outcomes else {
            return;
        };
        // The shortest of the runs, as above.
        let [with, without] = [controller, replay].map(|outcome| outcome.times.min());
        let cost = share(with.div_duration_f64(without) - 1.0).at_most(0.01);
        let cost = cost.not_of_a_gpu("two runs of the same differ by more, by 3 % and up");
        let sentence = "controller: telemetry takes this share of the time";
        self.expect("telemetry", sentence, cost);
        let reached = share((bound * P as u32).div_duration_f64(with)).at_most(1.05);
        let sentence = "controller: not faster than the bound";
        self.expect("not-below-bound/controller", sentence, reached);
    }

    fn show_regret<const P: usize, const F: usize>(
        &mut self,
        regret: &Regret<P, F>,
        outcomes: &[Outcome],
        bound: Duration,
    ) {
        let phases: [String; P] = array::from_fn(|phase| format!("phase {phase}"));
        let titles = ["", "all"]
            .into_iter()
            .chain(phases.iter().map(String::as_str));
        let mut table = Table::of(titles.chain(["regret"]));
        let mut row = |name: &str, phases: &[Duration; P], regret: String| {
            let times = [phases.iter().sum()]
                .into_iter()
                .chain(*phases)
                .map(units::time);
            table.row([name.to_owned()].into_iter().chain(times).chain([regret]));
        };
        let shown = |phases: &[Duration; P]| units::percent(regret.regret(phases));
        let runs = regret.fixed.iter();
        let runs = runs.chain([&regret.controller, &regret.replay]);
        for (outcome, phases) in outcomes.iter().zip(runs) {
            row(&outcome.name.text, phases, shown(phases));
        }
        let best = array::from_fn(|phase| regret.best(phase));
        row("best of each phase", &best, shown(&best));
        row("bound", &[bound; P], String::new());
        self.say(table);
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
