//! Which stream gets memory that a stream has freed: an allocation behind a free, with one policy and with none.

use super::MemoryPool;
use cuda_host::pool::Reuse::{
    self, AllowInternalDependencies, AllowOpportunistic, FollowEventDependencies,
};
use cuda_host::{StreamExt, kernels, launch, stream};
use cust::context::CurrentContext;
use cust::error::{CudaError, CudaResult};
use cust::event::{Event, EventFlags};
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use examples_host::prelude::*;
use examples_host::reuse::{Given, case};

kernels! { use gpu_kernels::affine_rounds; }

/// Bytes of each allocation: two of them do not fit into what a pool reserves for one.
const BYTES: usize = 64 << 20;
/// Bytes of a pool that is to be full.
const LIMIT: usize = 2 * BYTES;
/// Half a millisecond or more: longer than any of the calls.
const BUSY: u32 = 1 << 18;

struct Scene {
    first: Stream,
    second: Stream,
    event: Event,
    other: DeviceBuffer<f32>,
    kernels: Kernels,
}

impl Scene {
    /// The stream that freed the memory gets it again: whatever uses it then comes behind the free.
    fn same_stream(&self, pool: &MemoryPool) -> anyhow::Result<Given> {
        let memory = alloc(pool, &self.first)?;
        let freed = memory.as_device_ptr();
        self.keep_busy(BUSY)?;
        memory.drop_async(&self.first)?;
        Ok(Given::by(alloc(pool, &self.first), freed, &self.first)?)
    }

    /// The second stream waits for an event behind the free.
    fn behind_an_event(&self, pool: &MemoryPool) -> anyhow::Result<Given> {
        let memory = alloc(pool, &self.first)?;
        let freed = memory.as_device_ptr();
        self.keep_busy(BUSY)?;
        memory.drop_async(&self.first)?;
        self.event.record(&self.first)?;
        self.second.wait(&self.event)?;
        Ok(Given::by(alloc(pool, &self.second), freed, &self.second)?)
    }

    /// Nothing orders the second stream behind the free, but the free is over. The host asks and does not wait: a wait
    /// would tell the pool.
    fn free_over(&self, pool: &MemoryPool) -> anyhow::Result<Given> {
        let memory = alloc(pool, &self.first)?;
        let freed = memory.as_device_ptr();
        self.keep_busy(BUSY)?;
        memory.drop_async(&self.first)?;
        while !self.first.is_idle()? {}
        Ok(Given::by(alloc(pool, &self.second), freed, &self.second)?)
    }

    /// The free is pending, and the pool must not grow.
    fn pool_full(&self, pool: &MemoryPool) -> anyhow::Result<Given> {
        let memory = alloc(pool, &self.first)?;
        let freed = memory.as_device_ptr();
        let mut others = Vec::new();
        loop {
            match alloc(pool, &self.first) {
                Err(CudaError::OutOfMemory) => break,
                // A driver may round the limit up.
                other if others.len() < 4 * LIMIT / BYTES => others.push(other?),
                _ => return Ok(Given::NeverFull),
            }
        }
        self.keep_busy(BUSY)?;
        memory.drop_async(&self.first)?;
        let given = Given::by(alloc(pool, &self.second), freed, &self.second)?;
        for other in others {
            other.drop_async(&self.first)?;
        }
        Ok(given)
    }

    /// A kernel of one small block in the first stream, of so many dependent steps, 2 to 3 ns each.
    fn keep_busy(&self, steps: u32) -> CudaResult<()> {
        let (mut other, stream) = (self.other.index(..), &self.first);
        // SAFETY: the memory outlives the launch, and nothing else uses it.
        unsafe {
            launch!(self.kernels.affine_rounds<<<1, 32, 0, stream>>>(&mut other, 1.0, 0.0, steps))
        }
    }
}

fn alloc(pool: &MemoryPool, stream: &Stream) -> CudaResult<DeviceBuffer<u8>> {
    // SAFETY: nothing uses the memory.
    unsafe { pool.alloc_async(BYTES, stream) }
}

/// Runs a case in a pool with these policies.
fn in_pool(
    pool: CudaResult<MemoryPool>,
    policies: &[Reuse],
    case: impl Fn(&MemoryPool) -> anyhow::Result<Given>,
) -> anyhow::Result<Given> {
    let Ok(pool) = pool else {
        return Ok(Given::NeverFull); // drivers before CUDA 12.2 limit no pool
    };
    pool.allow_only(policies)?; //               cuMemPoolSetAttribute
    pool.set_release_threshold(u64::MAX)?; //    cuMemPoolSetAttribute
    let given = case(&pool)?;
    CurrentContext::synchronize()?;
    Ok(given)
}

/// The cases, each in a pool of its own.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let [first, second] = stream::named(["first", "second"])?;
    let scene = &Scene {
        first,
        second,
        event: Event::new(EventFlags::DISABLE_TIMING)?,
        other: DeviceBuffer::zeroed(32)?,
        kernels: Kernels::load(gpu_kernels::SM_70)?,
    };
    CurrentContext::synchronize()?;
    scene.keep_busy(1)?; // the driver may load a kernel when it is first launched, and wait for the device then
    let device = CurrentContext::get_device()?;
    let new = || MemoryPool::new(device); //     cuMemPoolCreate
    let limited = || MemoryPool::limited_to(device, LIMIT);
    part.reuse([
        case("same-stream", "the same stream, free pending", |policies| {
            in_pool(new(), policies, |pool| scene.same_stream(pool))
        }),
        case("event", "behind an event, free pending", |policies| {
            in_pool(new(), policies, |pool| scene.behind_an_event(pool))
        })
        .policy(FollowEventDependencies)
        .without(Given::Other),
        case("opportunistic", "no order, free happens to be over", |policies| {
            in_pool(new(), policies, |pool| scene.free_over(pool))
        })
        .policy(AllowOpportunistic),
        case("internal", "no order, free pending, pool full", |policies| {
            in_pool(limited(), policies, |pool| scene.pool_full(pool))
        })
        .policy(AllowInternalDependencies)
        .without(Given::Nothing),
    ])
}
