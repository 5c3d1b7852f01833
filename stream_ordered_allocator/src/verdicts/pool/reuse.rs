//! Which stream gets memory that a stream has freed: an allocation behind a free, with one policy and with none.

use super::cases::{self, case};
use crate::pool::{BYTES, Next, TwoStreams, alloc};
use crate::verdicts::given::Given;
use cuda_host::pool::Reuse::{
    self, AllowInternalDependencies, AllowOpportunistic, FollowEventDependencies,
};
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use cust::error::CudaError;
use examples_host::prelude::*;

/// Bytes of a pool that is to be full.
const LIMIT: usize = 2 * BYTES;

/// What the next allocation gave, which was made in this stream.
fn given(next: CudaResult<Next>, stream: &Stream) -> anyhow::Result<Given> {
    let (freed, allocated) = next?;
    Ok(Given::by(allocated, freed, stream)?)
}

/// Fills the pool, and asks for more.
fn pool_full(scene: &TwoStreams, pool: &MemoryPool) -> anyhow::Result<Given> {
    let memory = alloc(pool, &scene.first)?;
    let mut others = Vec::new();
    loop {
        match alloc(pool, &scene.first) {
            Err(CudaError::OutOfMemory) => break,
            // A driver may round the limit up.
            other if others.len() < 4 * LIMIT / BYTES => others.push(other?),
            _ => return Ok(Given::NeverFull),
        }
    }
    let given = given(scene.pool_full(pool, memory), &scene.second)?;
    others.into_iter().try_for_each(|other| other.drop_async(&scene.first))?;
    Ok(given)
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
    let scene = &TwoStreams::new()?;
    let device = CurrentContext::get_device()?;
    let new = || MemoryPool::new(device); //     cuMemPoolCreate
    let limited = || MemoryPool::limited_to(device, LIMIT);
    let cases = [
        case("same-stream", "the same stream, free pending", |policies| {
            in_pool(new(), policies, |pool| given(scene.same_stream(pool), &scene.first))
        }),
        case("event", "behind an event, free pending", |policies| {
            in_pool(new(), policies, |pool| given(scene.behind_an_event(pool), &scene.second))
        })
        .policy(FollowEventDependencies)
        .without(Given::Other),
        case("opportunistic", "no order, free happens to be over", |policies| {
            in_pool(new(), policies, |pool| given(scene.free_over(pool), &scene.second))
        })
        .policy(AllowOpportunistic),
        case("internal", "no order, free pending, pool full", |policies| {
            in_pool(limited(), policies, |pool| pool_full(scene, pool))
        })
        .policy(AllowInternalDependencies)
        .without(Given::Nothing),
    ];
    cases::judge(part, cases)
}
