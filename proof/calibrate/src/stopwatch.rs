//! How everything is timed, on the device's clock or the host's: of the device's work the least times, of the host's medians.

use crate::gpu::{self, Event, Stream};
use anyhow::Result;
use examples_host::host_clock;
use std::time::Duration;

/// Runs of each measurement, after one that warms up, and of those of single calls, which vary more and take less.
const RUNS: usize = 9;
const RUNS_OF_CALLS: usize = 31;

/// The median; 0 of nothing.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}

/// The least of what `run` returns, without its first value: what disturbs a device's work only adds to its time.
pub fn least(mut run: impl FnMut() -> Result<f64>) -> Result<f64> {
    run()?;
    (0..RUNS).try_fold(f64::INFINITY, |least, _| Ok(least.min(run()?)))
}

/// The median of what `run` returns, without its first value.
pub fn repeat(mut run: impl FnMut() -> Result<f64>) -> Result<f64> {
    repeat_times(RUNS, &mut run)
}

pub fn repeat_times(runs: usize, mut run: impl FnMut() -> Result<f64>) -> Result<f64> {
    run()?;
    let figures: Result<Vec<f64>> = (0..runs).map(|_| run()).collect();
    Ok(median(figures?))
}

/// What the host's clock shows for `body`, in µs.
pub fn on_host(body: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = host_clock::now();
    body()?;
    Ok((host_clock::now() - start).as_secs_f64() * 1e6)
}

/// The cost of one of `calls` calls made in a row, in µs of the host's clock; the device is idle when they begin.
pub fn per_call(calls: usize, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    repeat_times(RUNS_OF_CALLS, || {
        gpu::synchronize()?;
        let time = on_host(|| (0..calls).try_for_each(|_| call()))?;
        gpu::synchronize()?;
        Ok(time / calls as f64)
    })
}

/// Times work on the device between two events, with the host far enough ahead.
pub struct Stopwatch {
    pub stream: Stream,
    start: Event,
    end: Event,
}

impl Stopwatch {
    pub fn new() -> Result<Self> {
        Ok(Self {
            stream: gpu::stream()?,
            start: gpu::timing_event()?,
            end: gpu::timing_event()?,
        })
    }

    /// The device's time for what `body` enqueues in the stopwatch's stream, in µs. It starts after everything is
    /// enqueued, which must not take longer than `ahead`.
    pub fn device(&self, ahead: Duration, body: impl FnOnce(Stream) -> Result<()>) -> Result<f64> {
        gpu::synchronize()?;
        gpu::hold(self.stream, ahead)?;
        gpu::record(self.start, self.stream)?;
        body(self.stream)?;
        gpu::record(self.end, self.stream)?;
        gpu::synchronize()?;
        gpu::elapsed_us(self.start, self.end)
    }

    /// As [`device`](Self::device), with `others` joined to the stopwatch's stream at both ends.
    pub fn device_with(
        &self,
        ahead: Duration,
        others: &[Stream],
        body: impl FnOnce() -> Result<()>,
    ) -> Result<f64> {
        // They keep no time: that would hold the stopwatch's stream up for each of them.
        let joins: Result<Vec<Event>> = others.iter().map(|_| gpu::untimed_event()).collect();
        self.device(ahead, |stream| {
            for other in others {
                gpu::wait(*other, self.start)?;
            }
            body()?;
            for (other, join) in others.iter().zip(joins?) {
                gpu::record(join, *other)?;
                gpu::wait(stream, join)?;
            }
            Ok(())
        })
    }

    /// The device's time for one more of what `body` enqueues, in µs: the difference between many and few of them, the least time
    /// of each.
    pub fn each(
        &self,
        few: usize,
        many: usize,
        body: impl Fn(Stream) -> Result<()>,
    ) -> Result<f64> {
        self.difference([few, many], body, |run| least(run))
    }

    /// The same by medians, for work in which the host takes part: it can be early as well as late.
    pub fn each_with_host(
        &self,
        few: usize,
        many: usize,
        body: impl Fn(Stream) -> Result<()>,
    ) -> Result<f64> {
        self.difference([few, many], body, |run| repeat(run))
    }

    /// `of` makes one time of several runs.
    fn difference(
        &self,
        [few, many]: [usize; 2],
        body: impl Fn(Stream) -> Result<()>,
        of: impl Fn(&mut dyn FnMut() -> Result<f64>) -> Result<f64>,
    ) -> Result<f64> {
        let time = |count: usize| {
            let ahead = Duration::from_micros(100 + 15 * count as u64);
            of(&mut || self.device(ahead, |stream| (0..count).try_for_each(|_| body(stream))))
        };
        Ok((time(many)? - time(few)?) / (many - few) as f64)
    }
}
