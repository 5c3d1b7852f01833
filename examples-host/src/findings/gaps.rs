//! What one hand-over costs: the time from the end of one operation to the start of the next, many times.

use crate::compare::Variant;
use crate::identity::{self, CallCounts, Judged};
use crate::intervals::{Engine, Recording};
use crate::label::Label;
use crate::part::Part;
use crate::recording::{record, traced};
use crate::results::Kind;
use crate::statistics::Durations;
use crate::table::Table;
use crate::units;
use anyhow::Context;
use std::time::Duration;

impl Part<'_> {
    /// Runs each variant twice and measures, in the second run, the gaps between the k-th operation of the first engine
    /// and the k-th of the second. Prints their distribution and returns it, in the order of the variants. Claims that no two of
    /// them are the same program, if they are.
    ///
    /// # Errors
    /// What a variant returns; a variant without such operations.
    pub fn gaps<S, const N: usize>(
        &mut self,
        group: impl Into<Label>,
        between: (Engine, Engine),
        work: &mut S,
        variants: [Variant<'_, S>; N],
    ) -> anyhow::Result<[Durations; N]> {
        let (group, device) = (group.into(), self.device().clone());
        let median = format!("p50, {}", device.times());
        let mut table = Table::new([group.text.as_str(), &median, "p99", "max"]);
        let (mut all, mut count, mut shapes) = (Vec::new(), 0, Vec::new());
        for mut variant in variants {
            record(&device, || (variant.body)(work))?;
            let mut trace = None;
            let recording = record(&device, || {
                let (done, calls) = traced(|| (variant.body)(work));
                trace = calls;
                done
            })?;
            shapes.extend(
                trace.map(|trace| (variant.label.clone(), CallCounts::of(&trace, &recording))),
            );
            let found = gaps(&recording, between);
            count = found.len();
            let times = Durations::new(found).context("nothing was recorded")?;
            let figures = [times.median(), times.percentile(99), times.max()].map(units::time);
            table.row([variant.label.text.clone()].into_iter().chain(figures));
            self.timed(&group, &variant.label, Kind::Other, &times);
            all.push(times);
        }
        let judged: Vec<Judged> = shapes.iter().map(Judged::by_calls).collect();
        self.claim_broken(&group.id, identity::broken(None, &judged));
        let (from, to) = between;
        self.say(format!(
            "{count} times, from the end of one copy ({from}) to the start of the next ({to}):\n{table}"
        ));
        match all.try_into() {
            Ok(all) => Ok(all),
            Err(_) => anyhow::bail!("not every variant was timed"),
        }
    }
}

fn gaps(recording: &Recording, (from, to): (Engine, Engine)) -> Vec<Duration> {
    let (from, to) = (recording.of(from), recording.of(to));
    let pairs = from.iter().zip(&to);
    pairs
        .map(|(from, to)| Duration::from_nanos(to.start.saturating_sub(from.end)))
        .collect()
}

/// The share of the first engine's operations, except its first, that had ended when the second engine began with the one
/// before: the first engine runs ahead.
pub fn ahead(recording: &Recording, (first, second): (Engine, Engine)) -> f64 {
    let (first, second) = (recording.of(first), recording.of(second));
    let pairs: Vec<bool> = first
        .iter()
        .skip(1)
        .zip(&second)
        .map(|(next, before)| next.end <= before.start)
        .collect();
    let ahead = pairs.iter().filter(|&&ahead| ahead).count();
    ahead as f64 / pairs.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{Interval, Source, Span};

    #[test]
    fn a_gap_lies_between_operations_of_the_same_number() {
        let interval = |engine, start, end| Interval {
            device: 0,
            engine,
            name: "copy".into(),
            stream: "s".into(),
            span: Span { start, end },
            bytes: 4,
        };
        let (out, back) = (Engine::DeviceToHost, Engine::HostToDevice);
        let intervals = [(out, 0, 10), (back, 13, 20), (out, 20, 30), (back, 35, 40)];
        let intervals = intervals.map(|(engine, start, end)| interval(engine, start, end));
        let recording = Recording::new(Source::SoftwareGpu, intervals.into());
        let expected = [3, 5].map(Duration::from_nanos);
        assert_eq!(gaps(&recording, (out, back)), expected);
        assert_eq!(ahead(&recording, (out, back)), 0.0);
        let intervals = [
            (out, 0, 10),
            (out, 10, 20),
            (back, 20, 30),
            (out, 25, 35),
            (back, 31, 40),
        ];
        let intervals = intervals.map(|(engine, start, end)| interval(engine, start, end));
        let recording = Recording::new(Source::SoftwareGpu, intervals.into());
        assert_eq!(ahead(&recording, (out, back)), 0.5);
    }
}
