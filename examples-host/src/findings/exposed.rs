//! Copies that kernels do not hide.

use crate::bound::{Overlap, Stages};
use crate::expect::{Measured, share};
use crate::intervals::{Engine, Recording};
use crate::measure::MeasuredVariant;
use crate::part::Part;
use crate::table::Table;
use crate::units;
use std::time::Duration;

impl Part<'_> {
    /// Prints of each variant how long it copied to the device and for how long no kernel ran meanwhile, beside the bounds
    /// that the stages set, and claims that no variant is faster than its bound.
    pub fn show_exposed(&mut self, outcomes: &[MeasuredVariant], stages: &Stages) {
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
            self.claim_not_below_bound(outcome, stages, Overlap::Duplex, None);
        }
    }
}

/// The share of the time of copies to the device during which no kernel ran.
pub fn exposed(outcome: &MeasuredVariant) -> Measured {
    share(part_of(&outcome.recording))
}

/// The same of all copies but the first, which nothing can hide: no work has arrived before it.
pub fn exposed_after_first(outcome: &MeasuredVariant) -> Measured {
    share(part_of(&without_first_copy(&outcome.recording)))
}

fn without_first_copy(recording: &Recording) -> Recording {
    let mut rest = recording.clone();
    let mut intervals = rest.intervals.iter();
    if let Some(first) = intervals.position(|interval| interval.engine == Engine::HostToDevice) {
        rest.intervals.remove(first);
    }
    rest
}

fn time(recording: &Recording) -> Duration {
    recording.busy(Engine::HostToDevice) - recording.overlap(Engine::HostToDevice, Engine::Kernel)
}

fn part_of(recording: &Recording) -> f64 {
    time(recording).div_duration_f64(recording.busy(Engine::HostToDevice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{Interval, Source, Span};

    #[test]
    fn the_first_copy_does_not_count_and_every_later_one_does() {
        let interval = |engine, start, end| Interval {
            device: 0,
            engine,
            name: "name".into(),
            stream: "stream".into(),
            span: Span { start, end },
            bytes: 4,
        };
        let (copy, kernel) = (Engine::HostToDevice, Engine::Kernel);
        let intervals = [
            (copy, 0, 40),
            (kernel, 40, 60),
            (copy, 50, 80),
            (copy, 80, 90),
        ];
        let intervals = intervals.map(|(engine, start, end)| interval(engine, start, end));
        let recording = Recording::new(Source::SoftwareGpu, intervals.into());
        assert_eq!(time(&recording), Duration::from_nanos(70));
        let rest = without_first_copy(&recording);
        assert_eq!(time(&rest), Duration::from_nanos(30));
        assert_eq!(part_of(&rest), 0.75);
        assert_eq!(time(&without_first_copy(&rest)), Duration::from_nanos(10));
    }
}
