//! Threads that feed the GPU; what their loads take; the data, and the expected results.

mod measure;

use super::loading::Feed;
use crate::depth::{BatchSlot, LEN, LoaderPipeline};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::few_values::{Batch, ExpectedValues};
use examples_host::prelude::*;
use examples_host::threads::on_threads;
use gpu_kernels::{FACTOR, SUMMAND};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Batches of a run.
pub const BATCHES: usize = 16;

/// A ring of buffers for each thread.
pub struct Loader {
    rings: Vec<Mutex<Vec<BatchSlot>>>,
    pipeline: LoaderPipeline,
    /// What each load takes.
    loads: Vec<Duration>,
    expected: ExpectedValues,
}

impl Loader {
    /// Rings for `threads` threads that prefetch up to `depth` batches each.
    pub fn new(part: &Part, Feed { threads, depth }: Feed) -> Result<Self> {
        let ring =
            |_| Ok(Mutex::new((0..=depth).map(|_| BatchSlot::new()).collect::<Result<_>>()?));
        // Some 2 and 0.1 ms: on a real CPU a batch cannot be loaded in less than 0.5 ms. A cache that does not hold the rings makes
        // some kernels longer than others: more arithmetic hides that.
        let small_cache = part.device().l2_cache()? < (threads * (depth + 1) * 4 * LEN) as u64;
        let rounds = part.by_times(1024, if small_cache { 192 } else { 64 });
        let after = |x| (0..rounds).fold(x, |x: f32, _| x.mul_add(FACTOR, SUMMAND));
        Ok(Self {
            rings: (0..threads).map(ring).collect::<Result<_>>()?,
            pipeline: LoaderPipeline::new(BATCHES, rounds)?,
            loads: vec![Duration::ZERO; BATCHES],
            expected: ExpectedValues::by(after),
        })
    }

    /// Loads a batch: its elements, and the time that reading and decoding them would take.
    fn load(&self, batch: usize, host: &mut [f32]) {
        let begin = host_clock::now();
        data(batch).fill(host);
        host_clock::spend(self.loads[batch].saturating_sub(host_clock::now() - begin));
    }

    /// Each thread loads its batches, every T-th of all, and keeps up to `depth` of them ahead of the kernels. Threads that share
    /// streams begin one after the other: if all finished a load at the same time, each would record its event behind the others'
    /// copies, and the kernel would wait for these, too.
    pub fn run(&self, device: &Device, feed: Feed, streams: [&Stream; 2]) -> Result<()> {
        let Feed { threads, depth } = feed;
        on_threads(device, threads, |thread| {
            let mut ring = self.rings[thread].lock().unwrap_or_else(PoisonError::into_inner);
            let batches = (thread..BATCHES).step_by(threads);
            let load = |batch, host: &mut [f32]| self.load(batch, host);
            host_clock::spend(feed.begin(thread, self.loads[thread]));
            self.pipeline.feed(&mut ring[..=depth], batches, load, streams)
        })?;
        Ok(())
    }
}

/// The batch of that number.
fn data(batch: usize) -> Batch {
    Batch::new(500 + batch as u64)
}

/// The plan of every run.
pub fn plan() -> Plan {
    Plan::new().bytes_in(4 * LEN * BATCHES).launches(BATCHES, LEN * BATCHES)
}

impl Workload for Loader {
    fn poison(&mut self) -> Result<()> {
        for ring in &mut self.rings {
            for slot in ring.get_mut().unwrap_or_else(PoisonError::into_inner) {
                check::poison(&mut slot.host);
                slot.device.set_8(0xFF)?;
            }
        }
        Ok(self.pipeline.results.iter_mut().try_for_each(|result| result.set_8(0xFF))?)
    }

    fn check(&mut self) -> Result<Checked> {
        let (mut all, mut found) = (Checked::default(), vec![0.0; LEN]);
        for (batch, result) in self.pipeline.results.iter().enumerate() {
            result.copy_to(&mut found)?;
            let expected = |index| self.expected.of(data(batch), index % LEN);
            all = all.and(check::equal("the results", batch * LEN, &found, expected)?);
        }
        Ok(all)
    }
}
