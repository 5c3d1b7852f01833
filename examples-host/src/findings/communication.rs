//! Communication between devices that their computing does not hide.

use crate::check::{self, Checked};
use crate::expect::{Measured, right, share};
use crate::intervals::{Engine, Recording};
use crate::measure::{MeasuredVariant, speedup};
use crate::part::Part;
use crate::table::Table;
use crate::units;
use std::time::Duration;

/// What bounds work that computes and communicates, each measured alone.
#[derive(Clone, Debug)]
pub struct Communication {
    compute: Duration,
    alone: Duration,
}

impl Communication {
    /// All computing takes `compute`, and all communication takes `alone`.
    pub fn new(compute: Duration, alone: Duration) -> Self {
        Self { compute, alone }
    }

    /// No schedule takes less.
    pub fn bound(&self) -> Duration {
        self.compute.max(self.alone)
    }

    /// The share of the bound that a variant reaches.
    pub fn reached(&self, outcome: &MeasuredVariant) -> Measured {
        share(self.bound().div_duration_f64(outcome.median()))
    }

    /// The communication that is not hidden: what it adds to the time of computing, as a share of the time that it takes alone.
    /// It counts what follows the last computing kernel, and by how much communication slows computing down.
    pub fn exposed(&self, outcome: &MeasuredVariant) -> Measured {
        let added = outcome.median().as_secs_f64() - self.compute.as_secs_f64();
        share(added / self.alone.as_secs_f64())
    }
}

impl Part<'_> {
    /// Prints of each variant how much of its communication was exposed, beside the bound, and claims that none is faster
    /// than that.
    pub fn show_communication(
        &mut self,
        outcomes: &[MeasuredVariant],
        communication: &Communication,
    ) {
        let median = format!("median, {}", self.device().times());
        let mut table = Table::new(["variant", &median, "speed-up", "exposed", "of the bound"]);
        for outcome in outcomes {
            table.row([
                outcome.name.to_string(),
                units::time(outcome.median()),
                units::ratio(speedup(outcomes, outcome.median())),
                communication.exposed(outcome).to_string(),
                communication.reached(outcome).to_string(),
            ]);
            self.keep(&outcome.name, &outcome.recording);
        }
        for (name, time) in [
            ("computing alone", communication.compute),
            ("communication alone", communication.alone),
        ] {
            table.row([name, &units::time(time), "", "", ""]);
        }
        self.say(format!(
            "{table}\nExposed: what communication adds to computing alone, as a share of communication alone."
        ));
        for outcome in outcomes {
            let id = outcome.id("not-below-bound");
            let sentence = format!("{} is not faster than the bound", outcome.name);
            let limited = communication.reached(outcome).at_most(1.05);
            self.expect(
                id,
                &sentence,
                limited.for_any(&[crate::part_option::PartOption::Size]),
            );
        }
    }
}

impl Part<'_> {
    /// Prints the times of the same work on each of this many devices, beside that on one, and claims that every element is right
    /// with each number: its number, its time, and its check.
    ///
    /// # Errors A check failed for a
    /// reason other than a wrong element.
    pub fn weak_scaling(
        &mut self,
        rows: Vec<(usize, Duration, anyhow::Result<Checked>)>,
    ) -> anyhow::Result<()> {
        let time = format!("time, {}", self.device().times());
        let mut table = Table::new(["GPUs", &time, "efficiency"]);
        let first = rows.first().map(|(_, time, _)| *time).unwrap_or_default();
        let mut checked = Ok(Checked::default());
        for (count, time, check) in rows {
            table.row([
                count.to_string(),
                units::time(time),
                units::percent(first.div_duration_f64(time)),
            ]);
            check::add(&mut checked, check)?;
        }
        self.say(format!(
            "{table}\nEach GPU has the same work, however many there are."
        ));
        let sentence = "every element is right with each number of GPUs";
        self.expect("elements/gpus", sentence, right(&checked, "elements"));
        Ok(())
    }
}

/// The share of the time of copies between devices during which this kernel ran on the device that copies. The first copy of each device
/// does not count: while CUPTI records, it takes 100 us, and the ones behind it 2.
pub fn beside_own_kernel(recording: &Recording, kernel: &str) -> f64 {
    let copies = |device| {
        let own =
            recording.spans(|own| own.device == device && own.engine == Engine::DeviceToDevice);
        own.into_iter().skip(1).collect()
    };
    let kernels = |device| {
        recording
            .spans(|own| own.device == device && own.engine == Engine::Kernel && own.name == kernel)
    };
    recording.share_on_own_device(copies, kernels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{Interval, Source, Span};

    #[test]
    fn only_the_own_devices_kernels_hide_its_communication() {
        let interval = |device, engine, name: &str, start, end| Interval {
            device,
            engine,
            name: name.into(),
            stream: "stream".into(),
            span: Span { start, end },
            bytes: 4,
        };
        let (copy, kernel) = (Engine::DeviceToDevice, Engine::Kernel);
        let intervals = vec![
            interval(0, copy, "the first, which does not count", 0, 40),
            interval(1, copy, "the first, which does not count", 40, 50),
            interval(0, kernel, "matmul", 0, 100),
            interval(0, copy, "copy", 50, 120),
            interval(0, kernel, "saxpy", 120, 130),
            interval(1, kernel, "matmul", 0, 40),
            interval(1, copy, "copy", 50, 60),
        ];
        let recording = Recording::new(Source::SoftwareGpu, intervals);
        assert_eq!(beside_own_kernel(&recording, "matmul"), 50.0 / 80.0);
    }
}
