//! A gate: streams are filled while it is shut, and the device begins when it opens.
//!
//! Launching takes the host some microseconds, so that short kernels end before the next ones are issued. A kernel that only
//! waits shuts the gate, and an event behind it opens the streams. What is timed from there on is the device alone.
//!
//! ```text
//! gate      |ssssssssssssssssss|         s: spin
//! stream 0                     |KKKKKK
//! stream 1                     |KKKKKK
//! ```

use anyhow::{Result, bail};
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use examples_host::prelude::*;
use examples_host::tally;
use gpu_kernels::Signature as _;
use std::time::Duration;

kernels! { use gpu_kernels::spin; }

/// What a launch with its share of waits may cost the host, generously.
const PER_LAUNCH: Duration = Duration::from_micros(10);
const LONGEST: Duration = Duration::from_millis(100);
/// The operations enqueued behind the event that opens the gate.
type GatedWork<'b> = &'b mut dyn FnMut(&Event) -> Result<()>;

/// A gate, with a stream of its own.
pub struct Gate {
    stream: Stream,
    kernels: Kernels,
    spun: DeviceBuffer<u32>,
    open: Event,
    joined: Event,
    end: Event,
}

impl Gate {
    /// A gate on the current device.
    pub fn new() -> Result<Self> {
        Ok(Self {
            stream: stream::non_blocking()?.named("gate"),
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            spun: DeviceBuffer::zeroed(1)?,
            open: Event::new(EventFlags::DEFAULT)?,
            joined: Event::new(EventFlags::DISABLE_TIMING)?,
            end: Event::new(EventFlags::DEFAULT)?,
        })
    }

    /// The time from the gate's opening to the end of what `body` enqueues; the host's time for enqueueing it.
    fn pass(&self, shut: Duration, streams: &[Stream], body: GatedWork) -> Result<[Duration; 2]> {
        CurrentContext::synchronize()?;
        let (gate, begin, ns) = (&self.stream, host_clock::now(), shut.as_nanos() as u64);
        // SAFETY: the kernel stores one number for its one block, and the buffer outlives it.
        unsafe { launch!(self.kernels.spin<<<1, 1, 0, gate>>>(ns, self.spun.as_device_ptr()))? };
        self.open.record(gate)?;
        body(&self.open)?;
        for stream in streams {
            self.joined.record(stream)?;
            gate.wait(&self.joined)?;
        }
        self.end.record(gate)?;
        let issued = host_clock::now() - begin;
        self.end.synchronize()?;
        let ms = f64::from(self.end.elapsed_time_f32(&self.open)?);
        Ok([Duration::from_nanos((ms * 1e6).round() as u64), issued])
    }

    /// The time of the planned work, which `body` enqueues in `streams`. If the gate opens too early, a slower one is tried.
    pub fn time(
        &self,
        streams: &[Stream],
        plan: Plan,
        mut body: impl FnMut(&Event) -> Result<()>,
    ) -> Result<Duration> {
        let calls = plan.count_of_launches() as usize + streams.len();
        let mut shut = PER_LAUNCH * calls.max(50) as u32;
        loop {
            let mut planned = |open: &Event| {
                let before = tally::enqueued();
                body(open)?;
                Ok(plan.check("behind the gate", tally::enqueued() - before)?)
            };
            let [time, issued] = self.pass(shut, streams, &mut planned)?;
            if issued < shut {
                return Ok(time);
            }
            if shut >= LONGEST {
                bail!("the host needs more than {} to enqueue {plan}", units::time(LONGEST))
            }
            shut = (shut * 4).min(LONGEST);
        }
    }

    /// The least of such times, of five or as many as `--iterations` says: what disturbs a run makes it longer.
    pub fn least(
        &self,
        part: &Part,
        streams: &[Stream],
        plan: Plan,
        mut body: impl FnMut(&Event) -> Result<()>,
    ) -> Result<Duration> {
        let time = |_: &(), _| anyhow::Ok([self.time(streams, plan, &mut body)?]);
        let found = sweep(part, 5, &[()], time)?;
        Ok(found.first().map_or(Duration::ZERO, |[times]| times.min()))
    }

    /// What ran when behind the gate, on a clock that begins when it opens.
    pub fn recording(
        &self,
        part: &Part,
        streams: &[Stream],
        plan: Plan,
        body: impl FnMut(&Event) -> Result<()>,
    ) -> Result<Recording> {
        let recording = record(part.device(), || self.time(streams, plan, body).map(drop))?;
        Ok(recording.only(|interval| interval.name != gpu_kernels::spin::NAME))
    }
}
