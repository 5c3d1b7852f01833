//! A stretch of a recording: what began between two operations of a kind.

use crate::gantt::{Gantt, Rows};
use crate::intervals::{Interval, Recording};
use crate::label::Label;
use crate::measure::MeasuredVariant;
use crate::output;
use crate::part::{INDENT, Part};
use std::ops::Range;

impl Part<'_> {
    /// Prints the first operations of a variant as a chart, and keeps its whole recording for `--trace` and `--json`.
    pub fn chart_start(
        &mut self,
        label: impl Into<Label>,
        outcome: &MeasuredVariant,
        operations: usize,
    ) {
        let label = label.into();
        self.keep(&label, &outcome.recording);
        let stretch = stretch(&outcome.recording, |_| true, 0..operations);
        self.say(format!("{label}, the beginning: {stretch}"));
        let chart = Gantt::new(&stretch, Rows::Streams).within(output::columns() - INDENT);
        self.say(chart.coloured());
    }

    /// Prints a stretch of each variant as a chart, from the start of one operation of a kind up to the start of another,
    /// with the host's waits meanwhile, and keeps the whole recordings for `--trace` and `--json`. Both operations are given
    /// by their numbers.
    pub fn chart_stretch<'o>(
        &mut self,
        what: &str,
        outcomes: impl IntoIterator<Item = &'o MeasuredVariant>,
        kind: impl Fn(&Interval) -> bool,
        numbers: Range<usize>,
    ) {
        for MeasuredVariant {
            name, recording, ..
        } in outcomes
        {
            self.keep(name, recording);
            let stretch = stretch(recording, &kind, numbers.clone());
            self.say(format!("{what}, {name}: {stretch}"));
            let chart = Gantt::new(&stretch, Rows::Streams);
            let chart = chart.with_host_waits().within(output::columns() - INDENT);
            self.say(chart.coloured());
        }
    }
}

fn stretch(
    recording: &Recording,
    kind: impl Fn(&Interval) -> bool,
    numbers: Range<usize>,
) -> Recording {
    let starts: Vec<u64> = recording
        .spans(kind)
        .iter()
        .map(|span| span.start)
        .collect();
    let at = |number: usize| starts.get(number).copied().unwrap_or(u64::MAX);
    let within = at(numbers.start)..at(numbers.end);
    recording
        .clone()
        .only(|interval| within.contains(&interval.span.start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{Engine, Source, Span};

    #[test]
    fn a_stretch_holds_what_began_in_it_and_begins_at_zero() {
        let interval = |(name, start, end): (&str, u64, u64)| Interval {
            device: 0,
            engine: Engine::Kernel,
            name: name.to_owned(),
            stream: "stream".to_owned(),
            span: Span { start, end },
            bytes: 0,
        };
        let spans = [
            ("a", 0, 10),
            ("b", 5, 9),
            ("a", 20, 40),
            ("b", 25, 90),
            ("a", 50, 60),
        ];
        let all = Recording::new(Source::SoftwareGpu, spans.map(interval).into());
        let names = |recording: &Recording| {
            let names = recording
                .intervals
                .iter()
                .map(|interval| interval.name.clone());
            names.collect::<Vec<_>>()
        };
        let second = stretch(&all, |interval| interval.name == "a", 1..2);
        assert_eq!(names(&second), ["a", "b"]);
        assert_eq!(second.intervals[0].span, Span { start: 0, end: 20 });
        let rest = stretch(&all, |interval| interval.name == "a", 1..9);
        assert_eq!(names(&rest), ["a", "b", "a"]);
    }
}
