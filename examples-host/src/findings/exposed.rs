//! Copies that kernels do not hide.

use crate::bound::{Overlap, Stages};
use crate::expect::{Found, share};
use crate::intervals::{Engine, Recording};
use crate::measure::Outcome;
use crate::part::Part;
use crate::table::Table;
use crate::units;
use std::time::Duration;

impl Part<'_> {
    /// Prints of each variant how long it copied to the device and for how long no kernel ran meanwhile, beside the bounds
    /// that the stages set, and claims that no variant is faster than its bound.
    pub fn show_exposed(&mut self, outcomes: &[Outcome], stages: &Stages) {
        let mut table = Table::new(["variant", "time", "copies", "exposed", "share"]);
        for outcome in outcomes {
            let copies = outcome.recording.busy(Engine::HostToDevice);
            let times = [outcome.median(), copies, time(&outcome.recording)];
            let exposed = units::percent(part_of(&outcome.recording));
            let cells = [outcome.name.to_string()].into_iter();
            table.row(cells.chain(times.map(units::time)).chain([exposed]));
        }
        for (overlap, name) in [
            (Overlap::None, "bound: no overlap, H + K"),
            (Overlap::Duplex, "bound: max(H, K)"),
        ] {
            let bound = units::time(stages.bound(overlap));
            table.row([name, &bound, "", "", ""]);
        }
        self.say(format!("{table}\nCopies are exposed while no kernel runs."));
        for outcome in outcomes {
            self.keep(&outcome.name, &outcome.recording);
            self.claim_not_below_bound(outcome, stages, Overlap::Duplex);
        }
    }
}

/// The share of the time of copies to the device during which no kernel ran.
pub fn exposed(outcome: &Outcome) -> Found {
    share(part_of(&outcome.recording))
}

fn time(recording: &Recording) -> Duration {
    recording.busy(Engine::HostToDevice) - recording.overlap(Engine::HostToDevice, Engine::Kernel)
}

fn part_of(recording: &Recording) -> f64 {
    time(recording).as_secs_f64() / recording.busy(Engine::HostToDevice).as_secs_f64()
}
