//! one-host: do the GPUs of one host share their links?
//!
//! Each GPU is on a link to the host. Whether two of them copy as fast together as alone depends on the machine: their links
//! may meet in a switch before they reach the host's memory. Links between GPUs are others still. Nothing but trying tells.
//!
//! ```text
//! in turn   GPU 0 |HHHHHHHH        |        at once   GPU 0 |HHHHHHHH|   own links
//!           GPU 1 |        HHHHHHHH|                  GPU 1 |HHHHHHHH|
//!
//!                                           at once   GPU 0 |HHHHHHHHHHHHHHHH|   one link for both
//!                                                     GPU 1 |HHHHHHHHHHHHHHHH|
//! ```
//!
//! Copies to all GPUs at once that do not overlap, that together are slower than one, or faster than each GPU's rate times the
//! number of GPUs, would prove this wrong.

use crate::gpus;
use anyhow::Result;
use cuda_host::{peer, prelude::*};
use cust::context::Context;
use cust::event::Event;
use cust::memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::beside::others_together;
use examples_host::prelude::*;
use examples_host::rates::Rate;

/// Buffers of one size on the host and on every GPU.
struct Work {
    contexts: Vec<Context>,
    /// By GPU, page-locked.
    host: Vec<LockedBuffer<u32>>,
    data: Vec<DeviceBuffer<u32>>,
    /// Where the neighbour's copies arrive.
    arrived: Vec<DeviceBuffer<u32>>,
    copied: Vec<Event>,
}

fn seed(gpu: usize) -> Seed {
    Seed::new(70 + gpu as u64)
}

impl Work {
    fn new(elements: usize) -> Result<Self> {
        let contexts = gpus::open_all()?;
        let filled = |gpu| {
            let mut host = LockedBuffer::new(&0, elements)?;
            seed(gpu).fill_u32(0, &mut host);
            Ok(host)
        };
        Ok(Self {
            host: gpus::on_each(&contexts, filled)?,
            data: gpus::on_each(&contexts, |_| Ok(DeviceBuffer::zeroed(elements)?))?,
            arrived: gpus::on_each(&contexts, |_| Ok(DeviceBuffer::zeroed(elements)?))?,
            copied: gpus::events(&contexts)?,
            contexts,
        })
    }

    fn copy_in(&mut self, gpu: usize, stream: &Stream) -> Result<()> {
        // SAFETY: both memories outlive the copy.
        unsafe { self.data[gpu].async_copy_from(&self.host[gpu], stream)? };
        Ok(())
    }

    fn copy_out(&mut self, gpu: usize, stream: &Stream) -> Result<()> {
        // SAFETY: as above; the host reads behind the copy.
        unsafe { self.data[gpu].async_copy_to(&mut self.host[gpu], stream)? };
        Ok(())
    }

    /// To the next GPU (`cuMemcpyPeerAsync`).
    fn copy_over(&mut self, gpu: usize, stream: &Stream) -> Result<()> {
        let next = (gpu + 1) % self.contexts.len();
        let to = (&mut *self.arrived[next], &self.contexts[next]);
        // SAFETY: both buffers outlive the copy, and nothing else uses them.
        unsafe { peer::copy_async(to, (&self.data[gpu], &self.contexts[gpu]), stream)? };
        Ok(())
    }

    /// Each copy waits for that of the GPU before.
    fn in_turn(&mut self, streams: &[Stream]) -> Result<()> {
        for (gpu, stream) in streams.iter().enumerate() {
            if gpu > 0 {
                stream.wait(&self.copied[gpu - 1])?;
            }
            self.copy_in(gpu, stream)?;
            self.copied[gpu].record(stream)?;
        }
        Ok(())
    }

    /// No copy waits for another.
    fn at_once(&mut self, streams: &[Stream]) -> Result<()> {
        for (gpu, stream) in streams.iter().enumerate() {
            self.copy_in(gpu, stream)?;
        }
        Ok(())
    }

    /// The same to the host.
    fn out_at_once(&mut self, streams: &[Stream]) -> Result<()> {
        for (gpu, stream) in streams.iter().enumerate() {
            self.copy_out(gpu, stream)?;
        }
        Ok(())
    }

    /// From each of these GPUs to the next.
    fn over_at_once(&mut self, streams: &[Stream]) -> Result<()> {
        for (gpu, stream) in streams.iter().enumerate() {
            self.copy_over(gpu, stream)?;
        }
        Ok(())
    }
}

impl Workload for Work {
    fn poison(&mut self) -> Result<()> {
        gpus::on_each(&self.contexts, |gpu| Ok(self.data[gpu].set_8(0xFF)?))?;
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        check_all(&self.contexts, &self.data, |gpu| gpu)
    }
}

/// Every element of every GPU, which are those that `of` gives the GPU's number for.
fn check_all(
    contexts: &[Context],
    data: &[DeviceBuffer<u32>],
    of: impl Fn(usize) -> usize,
) -> Result<Checked> {
    let checked = gpus::on_each(contexts, |gpu| {
        let mut found = vec![0; data[gpu].len()];
        data[gpu].copy_to(&mut found)?;
        let own = seed(of(gpu));
        let expected = |index| own.u32(index);
        Ok(check::equal(&format!("GPU {gpu}"), 0, &found, expected)?)
    })?;
    Ok(checked.into_iter().fold(Checked::default(), Checked::and))
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let elements = part.elements_by_times::<u32>(ByteSize::mib(256), ByteSize::mib(16))?;
    let mut work = Work::new(elements)?;
    let (gpus, bytes) = (work.contexts.len(), elements * size_of::<u32>());
    let streams = &gpus::streams(&work.contexts, "copies")?;
    part.predict(format!(
        "If each of the {gpus} GPUs has a link of its own, copies to all of them at once take as long\nas a copy to one. If they share one, {gpus} times as long. Copies between GPUs do not\npass through the host where the hardware joins them."
    ));

    let plan = Plan::new().bytes_in(gpus * bytes);
    let variants = variants! { work: Work;
        ("in-turn", "one GPU after the other"), streams => work.in_turn(streams);
        ("at-once", "all GPUs at once"), streams => work.at_once(streams);
    };
    let outcomes = part.compare("variants", plan, &mut work, variants)?;
    part.say(measure::table(&outcomes, part.device().times()));
    let [in_turn, at_once] = &outcomes;
    part.chart(&at_once.name, &at_once.recording, Rows::Streams);
    part.chart(&in_turn.name, &in_turn.recording, Rows::Streams);

    let first = [&streams[0]];
    let rates = [
        Rate::new(
            ("in-one", "host to one GPU"),
            bytes,
            part.alone(first, || work.copy_in(0, &streams[0]))?,
        ),
        Rate::new(
            ("in-all", "host to all GPUs"),
            gpus * bytes,
            part.alone(streams, || work.at_once(streams))?,
        ),
        Rate::new(
            ("out-one", "one GPU to host"),
            bytes,
            part.alone(first, || work.copy_out(0, &streams[0]))?,
        ),
        Rate::new(
            ("out-all", "all GPUs to host"),
            gpus * bytes,
            part.alone(streams, || work.out_at_once(streams))?,
        ),
        Rate::new(
            ("over-one", "GPU 0 to GPU 1"),
            bytes,
            part.alone(first, || work.over_at_once(&streams[..1]))?,
        ),
        Rate::new(
            ("over-all", "each GPU to the next"),
            gpus * bytes,
            part.alone(streams, || work.over_at_once(streams))?,
        ),
    ];
    part.show_rates(&rates);
    let [in_one, in_all, out_one, out_all, over_one, over_all] = &rates;
    let arrived = check_all(&work.contexts, &work.arrived, |gpu| (gpu + gpus - 1) % gpus);
    let arrived = examples_host::expect::checked(arrived, "elements")?;
    let together =
        |outcome: &measure::Outcome| share(others_together(&outcome.recording, "").unwrap_or(0.0));
    expect! { part;
        "elements/over", "every element arrives at the next GPU" => arrived;
        "overlap/in-turn", "in turn: no copy overlaps another" => together(in_turn).at_most(0.01);
        "overlap/at-once", "at once: the copies overlap" => together(at_once).at_least(0.5);
    }
    for (id, what, one, all) in [
        ("in", "copies to all GPUs", in_one, in_all),
        ("out", "copies from all GPUs", out_one, out_all),
        ("over", "copies between all GPUs", over_one, over_all),
    ] {
        let gain = ratio(all.over(one));
        expect! { part;
            "not-slower/{id}", "{what} together are as fast as one" => gain.at_least(0.9);
            "not-above/{id}", "{what} together are no faster than each alone" => gain.at_most(1.1 * gpus as f64);
        }
    }
    part.take_away("Each link is there for its own two ends: what all GPUs do at once tells whether they share one.");
    Ok(())
}
