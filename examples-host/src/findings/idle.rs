//! Idle time of the device between the launches of one kernel, and what runs beside it.

use crate::intervals::{Recording, Span, intersection, total, union};
use crate::label::Label;
use crate::measure::MeasuredVariant;
use crate::part::Part;
use crate::results::Kind;
use crate::statistics::Durations;
use crate::table::Table;
use crate::units;
use anyhow::Context;
use std::time::Duration;

impl Part<'_> {
    /// Prints, for each variant, the distribution of the idle time between two launches of `kernel` that follow one
    /// another: the time during which no operation ran. Returns the medians, in the order of the variants.
    ///
    /// # Errors
    /// A variant has fewer than two such launches.
    pub fn idle_between<const N: usize>(
        &mut self,
        group: impl Into<Label>,
        kernel: &str,
        outcomes: &[MeasuredVariant; N],
    ) -> anyhow::Result<[Duration; N]> {
        let group = group.into();
        let mut table = Table::new([group.text.as_str(), "median", "p99", "longest"]);
        let mut medians = [Duration::ZERO; N];
        for (outcome, median) in outcomes.iter().zip(&mut medians) {
            let found = idle(&outcome.recording, kernel);
            let found = found.with_context(|| format!("{}: no two launches", outcome.name))?;
            *median = found.median();
            let figures = [*median, found.percentile(99), found.max()].map(units::time);
            table.row([outcome.name.to_string()].into_iter().chain(figures));
            self.timed(&group, &outcome.name, Kind::Other, &found);
        }
        self.say(table);
        Ok(medians)
    }
}

/// `None` when there are not two launches.
pub fn idle(recording: &Recording, kernel: &str) -> Option<Durations> {
    let launches = recording.spans(|interval| interval.name == kernel);
    let busy = union(recording.spans(|_| true));
    let idle = |pair: &[Span]| {
        let between = Span {
            start: pair[0].end,
            end: pair[1].start.max(pair[0].end),
        };
        let worked = total(&intersection([between], busy.iter().copied()));
        Duration::from_nanos(between.nanoseconds()) - worked
    };
    Durations::new(launches.windows(2).map(idle).collect())
}

/// The share of the time in which kernels of one name ran during which one of the other name ran too.
pub fn beside_kernel(recording: &Recording, name: &str, other: &str) -> f64 {
    let spans = |name: &str| union(recording.spans(|interval| interval.name == name));
    let (own, both) = (spans(name), intersection(spans(name), spans(other)));
    total(&both).as_secs_f64() / total(&own).as_secs_f64().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{Engine, Interval, Source};

    fn recording(spans: &[(&str, u64, u64)]) -> Recording {
        let interval = |&(name, start, end): &(&str, u64, u64)| Interval {
            device: 0,
            engine: Engine::Kernel,
            name: name.to_owned(),
            stream: "stream".to_owned(),
            span: Span { start, end },
            bytes: 0,
        };
        Recording::new(Source::SoftwareGpu, spans.iter().map(interval).collect())
    }

    #[test]
    fn only_time_without_any_operation_is_idle() {
        let found = idle(
            &recording(&[
                ("update", 0, 10),
                ("other", 15, 40),
                ("update", 42, 50),
                ("other", 45, 60),
                ("update", 55, 65),
                ("update", 65, 70),
            ]),
            "update",
        );
        let idle_times = found.map(|found| found.sorted().to_vec());
        let expected = [0, 0, 7].map(Duration::from_nanos).to_vec();
        assert_eq!(idle_times, Some(expected));
        assert!(idle(&recording(&[("update", 0, 10)]), "update").is_none());
    }

    #[test]
    fn the_share_beside_another_kernel_is_of_the_own_time() {
        let recording = recording(&[("a", 0, 10), ("b", 5, 25), ("a", 20, 30), ("c", 0, 30)]);
        assert_eq!(beside_kernel(&recording, "a", "b"), 0.5);
        assert_eq!(beside_kernel(&recording, "b", "c"), 1.0);
        assert_eq!(beside_kernel(&recording, "x", "a"), 0.0);
    }
}
