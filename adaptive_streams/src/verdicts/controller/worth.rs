//! Claims about the regret, and its table.

use super::regret::Regret;
use examples_host::prelude::*;
use std::array;
use std::time::Duration;

/// What must be at stake, as a share of the time, for a controller to pay.
const WORTH_IT: f64 = 0.05;

/// Prints what the phases took with each variant, and the bound of each phase; claims that the controller's regret is at most 5 %, that it beats the
/// fixed choices, that on the model its telemetry takes at most 1 % of the time, and that it is not faster than the bound. `at_stake` is the
/// predicted loss of the best fixed choice, as a share of the time. The controller must gain half of it, or 5 % if that is less. Where less than 5 %
/// is at stake, nothing is claimed.
pub fn expect_regret<const P: usize, const F: usize>(
    part: &mut Part,
    regret: &Regret<P, F>,
    outcomes: &[MeasuredVariant],
    bounds: [Duration; P],
    at_stake: f64,
) {
    show_regret(part, regret, outcomes, &bounds);
    let own = regret.regret(&regret.controller);
    let sentence = "controller: regret beside the best choice of each phase";
    part.expect("regret/controller", sentence, share(own).at_most(0.05));
    let all = regret.fixed.map(|phases| regret.regret(&phases));
    let [best, worst] =
        [f64::min, f64::max].map(|of| all.into_iter().reduce(of).unwrap_or_default());
    let gain = |fixed: f64| ratio((1.0 + fixed) / (1.0 + own));
    let sentence = "best fixed choice to controller";
    if at_stake >= WORTH_IT {
        let least = 1.0 + WORTH_IT.min(at_stake / 2.0);
        part.expect("gain/best-fixed", sentence, gain(best).at_least(least));
    } else {
        let at_stake = units::percent(at_stake);
        part.say(format!(
            "Not claimed of this device: the controller beats the best fixed choice. That one is predicted to lose\n\
             {at_stake} of the time, and learning takes as much."
        ));
    }
    let sentence = "worst fixed choice to controller";
    part.expect("gain/worst-fixed", sentence, gain(worst).at_least(1.5));
    let [.., controller, replay] = outcomes else {
        return;
    };
    // The shortest of the runs, as above.
    let [with, without] = [controller, replay].map(|outcome| outcome.times.min());
    let cost = share(with.div_duration_f64(without) - 1.0).at_most(0.01);
    let cost = cost.not_of_a_gpu("two runs of the same differ by more, by 3 % and up");
    let sentence = "controller: telemetry takes this share of the time";
    part.expect("telemetry", sentence, cost);
    let reached = share(bounds.iter().sum::<Duration>().div_duration_f64(with)).at_most(1.05);
    let sentence = "controller: not faster than the bound";
    part.expect("not-below-bound/controller", sentence, reached);
}

fn show_regret<const P: usize, const F: usize>(
    part: &mut Part,
    regret: &Regret<P, F>,
    outcomes: &[MeasuredVariant],
    bounds: &[Duration; P],
) {
    let phases: [String; P] = array::from_fn(|phase| format!("phase {phase}"));
    let titles = ["", "all"].into_iter().chain(phases.iter().map(String::as_str));
    let mut table = Table::of(titles.chain(["regret"]));
    let mut row = |name: &str, phases: &[Duration; P], regret: String| {
        let times = [phases.iter().sum()].into_iter().chain(*phases).map(units::time);
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
    row("bound", bounds, String::new());
    part.say(table);
}
