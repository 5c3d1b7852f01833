//! Timing what the device does with work that is already there.
//!
//! A launch takes the host some microseconds, so that short kernels end before the next ones are issued. Behind the
//! gate, a kernel that does nothing but wait, the host fills all streams first; when it opens, the device has only its own
//! limits.

use anyhow::{Context, bail, ensure};
use examples_host::prelude::*;
use examples_host::tally;
use gpu_kernels::{SM_70, Signature as _};
use std::time::Duration;

kernels! {
    unsafe struct Waiting {
        fn spin(ns: u64, out: *mut u32) = gpu_kernels::spin;
    }
}

/// What a launch with its share of waits may cost the host, generously.
const PER_LAUNCH: Duration = Duration::from_micros(10);
const LONGEST: Duration = Duration::from_millis(100);

/// The recording without the gate, beginning when the gate opens.
pub fn behind(recording: Recording) -> Recording {
    recording.only(|interval| interval.name != gpu_kernels::spin::NAME)
}

/// A gate, with a stream of its own.
pub struct Gate {
    waiting: Waiting,
    flag: DeviceBuffer<u32>,
    open: Event,
    end: Event,
}

impl Gate {
    /// A gate on the device.
    pub fn new(device: &Device) -> Result<Self> {
        let stream = Stream::non_blocking(device, "gate")?;
        Ok(Self {
            waiting: Waiting::load(device, SM_70)?,
            flag: DeviceBuffer::new(&stream, 1)?,
            open: Event::new(device, Timing::On)?,
            end: Event::new(device, Timing::On)?,
        })
    }

    /// The time from the gate's opening to the end of the planned work, which `body` enqueues into
    /// `streams`. If the host is not done before the gate opens, it is tried again with a slower one.
    pub fn time(
        &mut self,
        streams: &[&Stream],
        plan: Plan,
        mut body: impl FnMut() -> Result<()>,
    ) -> anyhow::Result<Duration> {
        let calls = plan.count_of_launches() + streams.len() as u64;
        let mut shut = PER_LAUNCH * u32::try_from(calls).unwrap_or(u32::MAX).max(50);
        loop {
            let planned = || {
                let before = tally::enqueued();
                body()?;
                let done = tally::enqueued() - before;
                Ok(plan.check("behind the gate", done)?)
            };
            if let Some(time) = self.try_time(streams, shut, planned)? {
                return Ok(time);
            }
            if shut >= LONGEST {
                bail!(
                    "the host needs more than {} to enqueue {plan}",
                    units::time(shut)
                )
            }
            shut = (shut * 4).min(LONGEST);
        }
    }

    /// The median of such times, five or as many as `--iterations` says, after one that warms up.
    pub fn median(
        &mut self,
        part: &Part,
        streams: &[&Stream],
        plan: Plan,
        mut body: impl FnMut() -> Result<()>,
    ) -> anyhow::Result<Duration> {
        let times = sweep(part, 5, &[()], |(), _| {
            Ok::<_, anyhow::Error>([self.time(streams, plan, &mut body)?])
        })?;
        let [[times]] = &times[..] else {
            bail!("{} points of one", times.len());
        };
        Ok(times.median())
    }

    fn try_time(
        &mut self,
        streams: &[&Stream],
        shut: Duration,
        body: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<Duration>> {
        let gate = self.flag.stream().clone();
        gate.device().synchronize()?;
        let begin = host_clock::now();
        let ns = u64::try_from(shut.as_nanos()).context("the gate's time")?;
        self.waiting.spin(Grid::new(1, 1), ns, &mut self.flag)?;
        self.open.record(&gate)?;
        streams
            .iter()
            .try_for_each(|stream| stream.wait(&self.open))?;
        body()?;
        streams
            .iter()
            .try_for_each(|stream| gate.wait_for(stream))?;
        self.end.record(&gate)?;
        let issued = host_clock::now() - begin;
        self.end.synchronize()?;
        let time = self.end.elapsed_since(&self.open)?;
        ensure!(!time.is_zero(), "the work behind the gate took no time");
        Ok((issued < shut).then_some(time))
    }
}
