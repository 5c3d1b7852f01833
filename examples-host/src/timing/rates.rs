//! How fast bytes move.

use crate::label::Label;
use crate::part::Part;
use crate::results::Kind;
use crate::statistics::Durations;
use crate::table::Table;
use crate::units;
use std::time::Duration;

/// Bytes that moved in some time.
#[derive(Clone, Debug)]
pub struct Rate {
    label: Label,
    bytes: usize,
    time: Duration,
}

impl Rate {
    /// All of `bytes` together took `time`.
    pub fn new(label: impl Into<Label>, bytes: usize, time: Duration) -> Self {
        Self {
            label: label.into(),
            bytes,
            time,
        }
    }

    /// Bytes per second.
    pub fn per_second(&self) -> f64 {
        self.bytes as f64 / self.time.as_secs_f64()
    }

    /// How many times as fast as another one it is.
    pub fn over(&self, other: &Self) -> f64 {
        self.per_second() / other.per_second()
    }
}

impl Part<'_> {
    /// Prints rates, and notes their times for `--json`.
    pub fn show_rates(&mut self, rates: &[Rate]) {
        let time = format!("time, {}", self.device().times());
        let mut table = Table::new(["copies", "bytes", &time, "GB/s"]);
        for rate in rates {
            table.row([
                rate.label.to_string(),
                units::bytes(rate.bytes as u64),
                units::time(rate.time),
                format!("{:.1}", rate.per_second() / 1e9),
            ]);
            if let Some(times) = Durations::new(vec![rate.time]) {
                self.timed("rates", &rate.label, Kind::Other, &times);
            }
        }
        self.say(table);
    }
}
