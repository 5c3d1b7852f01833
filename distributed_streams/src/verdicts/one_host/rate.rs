//! How fast bytes move over the links.

use crate::one_host::Copies;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;
use examples_host::statistics::Durations;
use std::time::Duration;

/// Bytes that moved in some time.
pub struct Rate {
    label: Label,
    bytes: usize,
    time: Duration,
}

impl Rate {
    /// All of `bytes` together took `time`.
    fn new(label: (&'static str, &'static str), bytes: usize, time: Duration) -> Self {
        Self { label: label.into(), bytes, time }
    }

    /// Bytes per second.
    fn per_second(&self) -> f64 {
        self.bytes as f64 / self.time.as_secs_f64()
    }

    /// How many times as fast as another one it is.
    pub fn over(&self, other: &Self) -> f64 {
        self.per_second() / other.per_second()
    }
}

/// The rates of one GPU and of all together: in, out, and over to the next. `bytes` is the size of one copy.
pub fn rates(
    part: &mut Part,
    copies: &mut Copies,
    streams: &[Stream],
    bytes: usize,
) -> Result<[Rate; 6]> {
    type Way = fn(&mut Copies, &[Stream]) -> CudaResult<()>;
    let mut rate = |label, way: Way, streams: &[Stream]| {
        let time = part.alone(streams, || Ok(way(copies, streams)?))?;
        anyhow::Ok(Rate::new(label, streams.len() * bytes, time))
    };
    let first = &streams[..1];
    Ok([
        rate(("in-one", "host to one GPU"), Copies::at_once, first)?,
        rate(("in-all", "host to all GPUs"), Copies::at_once, streams)?,
        rate(("out-one", "one GPU to host"), Copies::out_at_once, first)?,
        rate(("out-all", "all GPUs to host"), Copies::out_at_once, streams)?,
        rate(("over-one", "GPU 0 to GPU 1"), Copies::over_at_once, first)?,
        rate(("over-all", "each GPU to the next"), Copies::over_at_once, streams)?,
    ])
}

/// Prints rates, and notes their times for `--json`.
pub fn show_rates(part: &mut Part, rates: &[Rate]) {
    let time = format!("time, {}", part.device().times());
    let mut table = Table::new(["copies", "bytes", &time, "GB/s"]);
    for rate in rates {
        table.row([
            rate.label.to_string(),
            units::bytes(rate.bytes as u64),
            units::time(rate.time),
            format!("{:.1}", rate.per_second() / 1e9),
        ]);
        if let Some(times) = Durations::new(vec![rate.time]) {
            part.timed("rates", &rate.label, Kind::Other, &times);
        }
    }
    part.say(table);
}
