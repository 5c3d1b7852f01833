//! What one hand-over costs: the time from the end of a copy out to the start of the copy in, with a function in
//! between that does nothing.

use super::Waiting;
use super::work::HostRing;
use anyhow::Context;
use examples_host::prelude::*;
use examples_host::statistics::Durations;
use std::time::Duration;

const STEPS: usize = 200;
/// So few that a copy takes no time.
const ELEMENTS: usize = 1024;

/// Who stands between the two copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    Nobody,
    Callback,
    Program(Waiting),
}

const ALL: [((&str, &str), Between); 4] = [
    (("event", "an event, no function"), Between::Nobody),
    (("callback", "callback"), Between::Callback),
    (
        ("polling-thread", "polling thread"),
        Between::Program(Waiting::Polling),
    ),
    (
        ("blocking-thread", "blocking thread"),
        Between::Program(Waiting::Blocking),
    ),
];

/// Prints the distribution for each way, and claims what must be.
pub fn compare(part: &mut Part) -> anyhow::Result<()> {
    let mut bench = Bench::new(part.device())?;
    let mut table = Table::new([
        "one hand-over",
        &format!("p50, {}", part.device().times()),
        "p99",
        "max",
    ]);
    let mut medians = Vec::new();
    for (variant, between) in ALL {
        bench.hand_overs(between)?;
        let times = bench.hand_overs(between)?;
        let figures = [times.median(), times.percentile(99), times.max()].map(units::time);
        table.row([variant.1.to_owned()].into_iter().chain(figures));
        part.timed(("hand-over", "one hand-over"), variant, Kind::Other, &times);
        medians.push(times.median());
    }
    part.say(format!(
        "{STEPS} times, copy to copy, with a function that does nothing:\n{table}"
    ));
    let [event, host @ ..] = &medians[..] else {
        anyhow::bail!("no way was timed");
    };
    let cheapest = host.iter().min().context("no function was timed")?;
    let dearer = cheapest.as_secs_f64() / event.as_secs_f64();
    part.claim_ratio_at_least(
        "hand-over/event-faster",
        "the host between two copies takes longer than an event",
        dearer,
        1.0,
    );
    Ok(())
}

struct Bench {
    fetch: Stream,
    functions: Stream,
    next: Stream,
    source: DeviceBuffer<f32>,
    destination: DeviceBuffer<f32>,
    ring: HostRing,
}

impl Bench {
    fn new(device: &Device) -> Result<Self> {
        let stream = |name| Stream::non_blocking(device, name);
        let (fetch, next) = (stream("copy out")?, stream("next")?);
        let mut source = DeviceBuffer::new(&fetch, ELEMENTS)?;
        source.poison()?;
        Ok(Self {
            source,
            destination: DeviceBuffer::new(&next, ELEMENTS)?,
            ring: HostRing::new(device, 1, ELEMENTS)?,
            functions: stream("function")?,
            fetch,
            next,
        })
    }

    /// The times of all hand-overs of one run.
    fn hand_overs(&mut self, between: Between) -> anyhow::Result<Durations> {
        let device = self.next.device().clone();
        let recording = record(&device, || {
            (0..STEPS).try_for_each(|_| self.hand_over(between))
        })?;
        let (out, back) = (
            recording.of(Engine::DeviceToHost),
            recording.of(Engine::HostToDevice),
        );
        let times = out.iter().zip(&back);
        let times =
            times.map(|(out, back)| Duration::from_nanos(back.start.saturating_sub(out.end)));
        Durations::new(times.collect()).context("no copies were recorded")
    }

    fn hand_over(&mut self, between: Between) -> Result<()> {
        let slot = self.ring.slot(0);
        self.source.copy_to(slot)?;
        slot.end_turn()?;
        match between {
            Between::Nobody => {}
            Between::Callback => self.functions.call_host_on(slot, |_| ())?,
            Between::Program(waiting) => {
                let landed = self.ring.landed(0);
                landed.record(&self.fetch)?;
                waiting.wait_for(landed)?;
            }
        }
        let slot = self.ring.slot(0);
        slot.end_turn()?;
        self.destination.copy_from(slot)?;
        slot.end_turn()
    }
}
