//! How the time of a fixed number of operations falls with the number of streams that they are spread over.
//!
//! On S streams S operations may run at a time: the bound is the time on one stream divided by S, and no less than one
//! operation takes. The knee is where the measured time leaves the bound, because something else has become scarce.

use anyhow::Result;
use examples_host::prelude::*;
use examples_host::statistics::Durations;
use std::time::Duration;

/// The knee is the last number of streams that reaches this share of the bound.
const KNEE: f64 = 0.8;

/// The times on one to many streams.
pub struct Scaling(Vec<ScalingRow>);

struct ScalingRow {
    streams: usize,
    bound: Duration,
    median: Duration,
    least: Duration,
}

impl ScalingRow {
    fn reached(&self) -> f64 {
        self.bound.as_secs_f64() / self.median.as_secs_f64()
    }
}

/// A number of streams, as a variant.
pub fn variant(streams: usize) -> Label {
    let text = match streams {
        1 => "1 stream".to_owned(),
        more => format!("{more} streams"),
    };
    Label::new(format!("streams-{streams}"), text)
}

/// Times the planned operations on each of these numbers of streams, the first of them 1; `one` is the least time of one
/// operation alone. Prints the times beside their bounds, and claims that every number is right.
///
/// # Errors
/// What `work` or `body` returns.
pub fn scaling<S: Workload>(
    part: &mut Part,
    plan: Plan,
    one: Duration,
    streams: &[usize],
    work: &mut S,
    mut body: impl FnMut(&mut S, usize) -> Result<Duration>,
) -> Result<Scaling> {
    let found = part.at_points(5, streams, work, |work, &streams| body(work, streams))?;
    let sentence = "every number is right";
    part.expect("numbers", sentence, right(&found.checked, "numbers"));

    let group = Label::new(VARIANTS, plan.to_string());
    part.planned(&group, &plan);
    for (&streams, times) in streams.iter().zip(&found.times) {
        part.timed(&group, variant(streams), Kind::Makespan, times);
    }
    let first = found.times.first();
    let on_one = first.map_or(one, |times| times.median());
    // What disturbs a run makes it longer: the least time on one stream is the bound's.
    let least_on_one = first.map_or(one, |times| times.min());
    let row = |(&streams, times): (&usize, &Durations)| ScalingRow {
        streams,
        bound: one.max(least_on_one.div_f64(streams as f64)),
        median: times.median(),
        least: times.min(),
    };
    let scaling = Scaling(streams.iter().zip(&found.times).map(row).collect());
    let median = format!("median, {}", part.device().times());
    part.say(scaling.table(&median, on_one));
    let knee = scaling.0.iter().rfind(|row| row.reached() >= KNEE);
    part.say(format!(
        "The knee is at {}, the last to reach {} of the bound.",
        variant(knee.map_or(1, |row| row.streams)),
        units::percent(KNEE)
    ));
    Ok(scaling)
}

impl Scaling {
    /// The share of the bound that this number of streams reaches; `NAN` when it was not tried.
    pub fn reached(&self, streams: usize) -> f64 {
        let row = self.0.iter().find(|row| row.streams == streams);
        row.map_or(f64::NAN, ScalingRow::reached)
    }

    /// The greatest share of the bound that a run reached: above 1, apart from noise, the measurement is wrong.
    pub fn most_reached(&self) -> f64 {
        let most = |row: &ScalingRow| row.bound.div_duration_f64(row.least);
        self.0.iter().map(most).fold(0.0, f64::max)
    }

    /// The time with a number of streams over that with the number before it, where it grows most: at most 1, apart from noise.
    pub fn most_slower(&self) -> f64 {
        let ratios = self.0.windows(2);
        let ratios = ratios.map(|pair| pair[1].least.div_duration_f64(pair[0].least));
        ratios.fold(0.0, f64::max)
    }

    fn table(&self, median: &str, on_one: Duration) -> Table {
        let mut table = Table::new(["streams", "bound", median, "speed-up", "of the bound"]);
        for row in &self.0 {
            table.row([
                row.streams.to_string(),
                units::time(row.bound),
                units::time(row.median),
                units::ratio(on_one.as_secs_f64() / row.median.as_secs_f64()),
                units::percent(row.reached()),
            ]);
        }
        table
    }
}
