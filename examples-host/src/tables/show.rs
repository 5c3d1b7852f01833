//! Printing what variants took where no bound is known.

use crate::label::Label;
use crate::measure::{self, MeasuredVariant};
use crate::part::Part;
use crate::results::Kind;
use crate::statistics::Durations;
use crate::table::Table;
use crate::units;
use std::time::Duration;

impl Part<'_> {
    /// Prints the outcomes: median, spread, and speed-up over the first of them.
    pub fn show(&mut self, outcomes: &[MeasuredVariant]) {
        self.say(measure::table(outcomes, self.device().times()));
    }

    /// Prints the outcomes beside the time that was predicted of each, with the host's time for enqueueing.
    pub fn show_predicted<const N: usize>(
        &mut self,
        outcomes: &[MeasuredVariant; N],
        predicted: [Duration; N],
    ) {
        let median = format!("median, {}", self.device().times());
        let mut table = Table::new(["variant", "predicted", &median, "speed-up", "enqueued in"]);
        for (outcome, predicted) in outcomes.iter().zip(predicted) {
            table.row([
                outcome.name.to_string(),
                units::time(predicted),
                units::time(outcome.median()),
                units::ratio(measure::speedup(outcomes, outcome.median())),
                units::time(outcome.issuing.median()),
            ]);
        }
        self.say(table);
    }

    /// Prints the times at several numbers of something beside those predicted, and notes them.
    pub fn show_steps<const N: usize>(
        &mut self,
        what: &'static str,
        numbers: &[usize; N],
        predicted: &[Duration; N],
        times: &[Durations],
    ) {
        let median = format!("median, {}", self.device().times());
        let mut table = Table::new([what, "predicted", &median, "of the first"]);
        let first = times.first().map(Durations::median);
        for ((number, predicted), times) in numbers.iter().zip(predicted).zip(times) {
            let median = times.median();
            table.row([
                number.to_string(),
                units::time(*predicted),
                units::time(median),
                units::ratio(first.map_or(1.0, |first| median.div_duration_f64(first))),
            ]);
            let label = Label::new(format!("{what}-{number}"), format!("{number} {what}"));
            self.timed(what, label, Kind::Makespan, times);
        }
        self.say(table);
    }

    /// Prints what each outcome took for one of `steps` steps: in all, and the host's thread.
    pub fn show_enqueued<const N: usize>(
        &mut self,
        what: &str,
        steps: usize,
        outcomes: &[MeasuredVariant; N],
    ) {
        let titles = ["time", "speed-up", "host's thread", "host, speed-up"];
        let mut table = Table::of([what].into_iter().chain(titles));
        let first = outcomes.first().map(|first| first.issuing.median());
        for outcome in outcomes {
            let issuing = outcome.issuing.median();
            table.row([
                outcome.name.to_string(),
                units::time(outcome.median() / steps as u32),
                units::ratio(measure::speedup(outcomes, outcome.median())),
                units::time(issuing / steps as u32),
                units::ratio(first.map_or(1.0, |first| first.div_duration_f64(issuing))),
            ]);
        }
        self.say(table);
    }

    /// Keeps, in the group `host/GROUP` of the results, what each outcome took of the host's thread for one of `steps` steps.
    pub fn keep_host_times<const N: usize>(
        &mut self,
        steps: usize,
        outcomes: &[MeasuredVariant; N],
    ) {
        for outcome in outcomes {
            let each = outcome.issuing.sorted().iter();
            let Some(times) = Durations::new(each.map(|&time| time / steps as u32).collect())
            else {
                continue;
            };
            let id = format!("host/{}", outcome.group);
            let group = Label::new(id, format!("{}, the host's thread", outcome.group));
            self.timed(group, &outcome.name, Kind::Other, &times);
        }
    }
}
