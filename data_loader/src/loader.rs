//! Batches on their way from CPU threads to the GPU, through a ring of page-locked buffers for each thread.

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::few_values::{Batch, Expected};
use examples_host::loading::{Feed, Loading};
use examples_host::prelude::*;
use examples_host::threads::on_threads;
use gpu_kernels::{FACTOR, SUMMAND};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

kernels! { use gpu_kernels::fma_tiles_unspecialised; }

/// Batches of a run.
pub const BATCHES: usize = 16;
/// Elements of a batch: 1 MiB.
const LEN: usize = 1 << 18;
/// One block: the model executes on the CPU what it times. To its stream, a small kernel is as long as a large one.
const BLOCKS: u32 = 1;
const THREADS: u32 = gpu_kernels::CONSUMERS;

/// The batch of that number.
fn data(batch: usize) -> Batch {
    Batch::new(500 + batch as u64)
}

/// The rings, and room for the result of each batch.
pub struct Loader {
    rings: Vec<Mutex<Ring>>,
    results: Vec<Mutex<DeviceBuffer<f32>>>,
    /// What each load takes.
    loads: Vec<Duration>,
    rounds: u32,
    kernels: Kernels,
    expected: Expected,
}

/// A thread's buffers.
struct Ring {
    slots: Vec<Slot>,
}

/// A batch in page-locked memory and in device memory, with an event for the end of its copy and of its kernel.
struct Slot {
    host: LockedBuffer<f32>,
    device: DeviceBuffer<f32>,
    copied: Event,
    used: Event,
}

impl Slot {
    fn new() -> Result<Self> {
        Ok(Self {
            host: LockedBuffer::new(&0.0, LEN)?,
            device: DeviceBuffer::zeroed(LEN)?,
            copied: Event::new(EventFlags::DISABLE_TIMING)?,
            // A thread that waits for it sleeps.
            used: Event::new(EventFlags::DISABLE_TIMING | EventFlags::BLOCKING_SYNC)?,
        })
    }

    /// Loads a batch: its elements, and the time that reading and decoding them would take.
    fn load(&mut self, batch: usize, takes: Duration) {
        let begin = host_clock::now();
        data(batch).fill(&mut self.host);
        host_clock::spend(takes.saturating_sub(host_clock::now() - begin));
    }

    fn copy_in(&mut self, stream: &Stream) -> Result<()> {
        // SAFETY: the buffer is page-locked and outlives the pass. Nothing is loaded into it before it has been used.
        unsafe { self.device.async_copy_from(&self.host, stream)? };
        Ok(())
    }
}

impl Loader {
    /// Rings for `threads` threads that prefetch up to `depth` batches each.
    pub fn new(part: &Part, Feed { threads, depth }: Feed) -> Result<Self> {
        let ring = |_| Ok(Mutex::new(Ring { slots: slots(depth + 1)? }));
        let result = |_| Ok(Mutex::new(DeviceBuffer::zeroed(LEN)?));
        // Some 2 and 0.1 ms: on a real CPU a batch cannot be loaded in less than 0.5 ms. A cache that does not hold the rings makes
        // some kernels longer than others: more arithmetic hides that.
        let small_cache = part.device().l2_cache()? < (threads * (depth + 1) * 4 * LEN) as u64;
        let rounds = part.by_times(1024, if small_cache { 192 } else { 64 });
        let after = |x| (0..rounds).fold(x, |x: f32, _| x.mul_add(FACTOR, SUMMAND));
        Ok(Self {
            rings: (0..threads).map(ring).collect::<Result<_>>()?,
            results: (0..BATCHES).map(result).collect::<Result<_>>()?,
            loads: vec![Duration::ZERO; BATCHES],
            rounds,
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            expected: Expected::by(after),
        })
    }

    /// A loaded batch's way to the GPU, and through it.
    fn enqueue(&self, batch: usize, slot: &mut Slot, [copy, compute]: [&Stream; 2]) -> Result<()> {
        slot.copy_in(copy)?;
        slot.copied.record(copy)?;

        compute.wait(&slot.copied)?;
        self.compute(batch, slot, compute)?;
        Ok(slot.used.record(compute)?)
    }

    /// The kernel on a batch: the GPU's work.
    fn compute(&self, batch: usize, slot: &Slot, stream: &Stream) -> Result<()> {
        let mut result = self.results[batch].lock().unwrap_or_else(PoisonError::into_inner);
        let (kernel, result) = (&self.kernels.fma_tiles_unspecialised, &mut *result);
        // SAFETY: the buffers outlive the pass, and any grid covers all tiles.
        unsafe {
            launch!(kernel<<<BLOCKS, THREADS, 0, stream>>>(&slot.device, result, self.rounds))?
        };
        Ok(())
    }

    /// Each thread loads its batches, every T-th of all, and keeps up to `depth` of them ahead of the kernels. Threads that share
    /// streams begin one after the other: if all finished a load at the same time, each would record its event behind the others'
    /// copies, and the kernel would wait for these, too.
    pub fn run(&self, device: &Device, feed: Feed, streams: [&Stream; 2]) -> Result<()> {
        let Feed { threads, depth } = feed;
        on_threads(device, threads, |thread| {
            let mut ring = self.rings[thread].lock().unwrap_or_else(PoisonError::into_inner);
            host_clock::spend(feed.begin(thread, self.loads[thread]));
            for (turn, batch) in (thread..BATCHES).step_by(threads).enumerate() {
                let slot = &mut ring.slots[turn % (depth + 1)];
                slot.used.synchronize()?; // the kernel has worked on what the slot held
                slot.load(batch, self.loads[batch]);
                self.enqueue(batch, slot, streams)?;
            }
            anyhow::Ok(())
        })?;
        Ok(())
    }

    /// Times a copy, a kernel, and a batch's way when the next one begins behind it, and makes each load take `load(batch)` kernels.
    /// What such a batch takes beside its load, its copy and its kernel is the hand-over: of a thread that has just loaded, since a
    /// core and a link that had nothing to do begin later.
    pub fn measure(
        &mut self,
        part: &Part,
        [copy, compute]: [&Stream; 2],
        load: impl Fn(usize) -> f64,
    ) -> Result<Loading> {
        let mut slot = Slot::new()?;
        data(0).fill(&mut slot.host);
        let copies = part.alone([copy], || (0..BATCHES).try_for_each(|_| slot.copy_in(copy)))?;
        let all = |batch| self.compute(batch, &slot, compute);
        let kernels = part.alone([compute], || (0..BATCHES).try_for_each(all))?;
        let [copied, kernel] = [copies, kernels].map(|all| all / BATCHES as u32);
        self.loads = (0..BATCHES).map(|batch| kernel.mul_f64(load(batch))).collect();
        let turns = part.alone([copy, compute], || {
            (0..BATCHES).try_for_each(|batch| {
                slot.used.synchronize()?;
                slot.load(batch, self.loads[batch]);
                self.enqueue(batch, &mut slot, [copy, compute])
            })
        })?;
        let passed = copies + kernels + self.loads.iter().sum::<Duration>();
        let hand_over = turns.saturating_sub(passed) / BATCHES as u32;
        Ok(Loading { loads: self.loads.clone(), hand_over, copy: copied, kernel })
    }

    /// The plan of every run.
    pub fn plan() -> Plan {
        Plan::new().bytes_in(4 * LEN * BATCHES).launches(BATCHES, LEN * BATCHES)
    }
}

fn slots(count: usize) -> Result<Vec<Slot>> {
    (0..count).map(|_| Slot::new()).collect()
}

impl Workload for Loader {
    fn poison(&mut self) -> Result<()> {
        for ring in &mut self.rings {
            let ring = ring.get_mut().unwrap_or_else(PoisonError::into_inner);
            for slot in &mut ring.slots {
                check::poison(&mut slot.host);
                slot.device.set_8(0xFF)?;
            }
        }
        for result in &mut self.results {
            result.get_mut().unwrap_or_else(PoisonError::into_inner).set_8(0xFF)?;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let (mut all, mut found) = (Checked::default(), vec![0.0; LEN]);
        for (batch, result) in self.results.iter_mut().enumerate() {
            result.get_mut().unwrap_or_else(PoisonError::into_inner).copy_to(&mut found)?;
            let expected = |index| self.expected.of(data(batch), index % LEN);
            all = all.and(check::equal("the results", batch * LEN, &found, expected)?);
        }
        Ok(all)
    }
}
