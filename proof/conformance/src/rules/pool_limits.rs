//! What a memory pool refuses, whose access it takes, and when freed memory is reused.

use std::ptr::{null, null_mut};

use super::memory::{RANGE_SIZE, RANGE_START, attribute};
use super::pools::{MIB, RELEASE_THRESHOLD, REUSE, allocate, free, properties, set, with_pool};
use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{Scene, is_busy};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "pool_limits";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(pool_of_no_device_is_refused, "cuMemPoolCreate", "A pool on a device that does not exist is refused."),
    rule!(location_must_have_a_kind, "cuMemPoolCreate", "A pool at a location without a kind is refused."),
    rule!(a_place_for_the_pool_is_needed, "cuMemPoolCreate",
        "Creating a pool without a place for its handle or without properties is refused."),
    rule!(private_pool_is_not_exported, "cuMemPoolExportToShareableHandle",
        "A pool made without a kind of handle is not exported."),
    rule!(own_access_cannot_be_revoked, "cuMemPoolSetAccess", "The access of a pool's own device cannot be taken away."),
    rule!(own_access_may_be_granted, "cuMemPoolSetAccess", "Granting the pool's own device access again has no effect."),
    rule!(access_of_no_device_is_refused, "cuMemPoolSetAccess",
        "Granting access to a device that does not exist is refused, and so is a null list."),
    rule!(nothing_is_allocated_in_vain, "cuMemAllocFromPoolAsync",
        "Allocating zero bytes from a pool succeeds, and the returned address can be freed."),
    rule!(null_is_freed_in_vain, "cuMemFreeAsync", "Freeing null in stream order does nothing."),
    rule!(host_memory_is_not_freed_in_order, "cuMemFreeAsync", "Freeing page-locked memory in stream order is refused."),
    rule!(range_of_pool_memory, "cuMemGetAddressRange",
        "An address inside of pool memory names its start and the bytes that were asked for, and may be read and written."),
    rule!(policies_take_zero_and_one, "CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES",
        "The reuse policies are switched off and on again."),
    rule!(without_policies_a_pending_free_is_not_reused, "CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES",
        "With all policies off another stream gets other memory while the free is pending, and does not wait."),
    rule!(same_stream_reuses_without_policies, "CUDA programming guide, memory reuse policies",
        "With all policies off the stream that freed memory gets it again at once."),
    rule!(events_let_reuse_with_their_policy_alone, "CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES",
        "With that policy alone, a stream that waits for an event behind the free gets the memory while it is pending."),
    rule!(an_event_before_the_free_lets_no_reuse, "CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES",
        "A stream that waits for an event recorded before the free gets other memory while the free is pending."),
    rule!(synchronised_frees_are_reused, "CUDA programming guide, memory reuse policies",
        "With all policies off, memory whose free the host has waited for is used by every stream."),
    rule!(completed_frees_are_reused, "CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC",
        "With that policy alone, another stream reuses memory whose free has been executed, without a dependency."),
    rule!(size_of_a_pool_is_limited, "CUmemPoolProps", "More than the largest size of a pool is out of memory."),
    rule!(a_full_pool_makes_the_stream_wait, "CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES",
        "With that policy, a stream waits for the pending free of a pool that cannot grow; without, it is out of memory."),
];

fn pool_of_no_device_is_refused(scene: &mut Scene) -> Outcome {
    let (mut properties, mut pool) = (properties(scene), 0);
    properties.location.id = 1000;
    let code = cu!(cuMemPoolCreate(&mut pool, &properties));
    holds!([INVALID_VALUE, INVALID_DEVICE].contains(&code));
    Ok(())
}

fn location_must_have_a_kind(scene: &mut Scene) -> Outcome {
    let (mut properties, mut pool) = (properties(scene), 0);
    properties.location.kind = 0;
    gives!(INVALID_VALUE, cuMemPoolCreate(&mut pool, &properties));
    Ok(())
}

fn a_place_for_the_pool_is_needed(scene: &mut Scene) -> Outcome {
    gives!(
        INVALID_VALUE,
        cuMemPoolCreate(null_mut(), &properties(scene))
    );
    gives!(INVALID_VALUE, cuMemPoolCreate(&mut 0, null()));
    Ok(())
}

fn private_pool_is_not_exported(scene: &mut Scene) -> Outcome {
    /// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
    const FILE_DESCRIPTOR: u32 = 1;
    with_pool(scene, |_, pool| {
        let mut descriptor = -1_i32;
        let code = cu!(cuMemPoolExportToShareableHandle(
            (&raw mut descriptor).cast(),
            pool,
            FILE_DESCRIPTOR,
            0
        ));
        holds!(code != SUCCESS);
        Ok(())
    })
}

fn access(device: i32, flags: u32) -> MemAccessDesc {
    MemAccessDesc {
        location: MemLocation {
            kind: 1,
            id: device,
        },
        flags,
    }
}

fn own_access_cannot_be_revoked(scene: &mut Scene) -> Outcome {
    with_pool(scene, |scene, pool| {
        let code = cu!(cuMemPoolSetAccess(pool, &access(scene.device, 0), 1));
        holds!(code != SUCCESS);
        Ok(())
    })
}

fn own_access_may_be_granted(scene: &mut Scene) -> Outcome {
    with_pool(scene, |scene, pool| {
        ok!(cuMemPoolSetAccess(pool, &access(scene.device, 3), 1));
        Ok(())
    })
}

fn access_of_no_device_is_refused(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        let code = cu!(cuMemPoolSetAccess(pool, &access(1000, 3), 1));
        holds!([INVALID_VALUE, INVALID_DEVICE].contains(&code));
        gives!(INVALID_VALUE, cuMemPoolSetAccess(pool, null(), 1));
        Ok(())
    })
}

fn nothing_is_allocated_in_vain(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| free(allocate(pool, 0)?))
}

fn null_is_freed_in_vain(_: &mut Scene) -> Outcome {
    ok!(cuMemFreeAsync(0, 0));
    ok!(cuStreamSynchronize(0));
    Ok(())
}

fn host_memory_is_not_freed_in_order(scene: &mut Scene) -> Outcome {
    let pinned = scene.pinned(64)?;
    gives!(INVALID_VALUE, cuMemFreeAsync(pinned.address(), 0));
    Ok(())
}

/// `CU_POINTER_ATTRIBUTE_ACCESS_FLAGS`.
const ACCESS_FLAGS: u32 = 16;

fn range_of_pool_memory(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        let address = allocate(pool, 3 * MIB)?;
        let (mut start, mut bytes) = (0, 0);
        ok!(cuMemGetAddressRange_v2(
            &mut start,
            &mut bytes,
            address + 100
        ));
        let said =
            [RANGE_START, RANGE_SIZE, ACCESS_FLAGS].map(|name| attribute(name, address + 100));
        free(address)?;
        same!((start, bytes), (address, 3 * MIB));
        let [start, bytes, access] = said;
        same!((start?, bytes?, access?), (address, 3 << 20, 3));
        Ok(())
    })
}

fn policies_take_zero_and_one(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        for policy in REUSE {
            for value in [0, 1, 0] {
                // The driver reads an int: the low word.
                same!(set(pool, policy, value), SUCCESS);
                same!(super::pools::get(pool, policy)?, value);
            }
        }
        Ok(())
    })
}

const FOLLOW_EVENTS: u32 = REUSE[0];
const OPPORTUNISTIC: u32 = REUSE[1];
const INTERNAL_DEPENDENCIES: u32 = REUSE[2];

/// Leaves one policy on, or none.
fn only(pool: Handle, on: Option<u32>) -> Outcome {
    for policy in REUSE {
        same!(set(pool, policy, u64::from(on == Some(policy))), SUCCESS);
    }
    Ok(())
}

/// Switches all policies off, keeps memory, and warms the pool up so that nothing needs to grow.
fn strict(pool: Handle) -> Outcome {
    only(pool, None)?;
    same!(set(pool, RELEASE_THRESHOLD, u64::MAX), SUCCESS);
    let warm = [allocate(pool, 2 * MIB)?, allocate(pool, 2 * MIB)?];
    warm.into_iter().try_for_each(free)
}

/// Memory of the pool, freed in a stream that is busy before the free.
fn pending_free(scene: &mut Scene, pool: Handle, stream: Handle, bytes: usize) -> Outcome<Address> {
    let address: Address =
        out(|address| cu!(cuMemAllocFromPoolAsync(address, bytes, pool, stream)))?;
    scene.busy(stream)?;
    ok!(cuMemFreeAsync(address, stream));
    Ok(address)
}

fn without_policies_a_pending_free_is_not_reused(scene: &mut Scene) -> Outcome {
    with_pool(scene, |scene, pool| {
        strict(pool)?;
        let (first, second) = (scene.non_blocking()?, scene.non_blocking()?);
        let freed = pending_free(scene, pool, first, 2 * MIB)?;
        let address: Address =
            out(|address| cu!(cuMemAllocFromPoolAsync(address, 2 * MIB, pool, second)))?;
        ok!(cuStreamSynchronize(second));
        holds!(is_busy(first)?);
        holds!(address != freed);
        ok!(cuMemFreeAsync(address, second));
        ok!(cuCtxSynchronize());
        Ok(())
    })
}

fn same_stream_reuses_without_policies(scene: &mut Scene) -> Outcome {
    with_pool(scene, |scene, pool| {
        strict(pool)?;
        let stream = scene.non_blocking()?;
        let freed = pending_free(scene, pool, stream, 2 * MIB)?;
        let address: Address =
            out(|address| cu!(cuMemAllocFromPoolAsync(address, 2 * MIB, pool, stream)))?;
        holds!(is_busy(stream)?);
        same!(address, freed);
        ok!(cuMemFreeAsync(address, stream));
        ok!(cuCtxSynchronize());
        Ok(())
    })
}

fn events_let_reuse_with_their_policy_alone(scene: &mut Scene) -> Outcome {
    with_pool(scene, |scene, pool| {
        let (first, second) = (scene.non_blocking()?, scene.non_blocking()?);
        only(pool, Some(FOLLOW_EVENTS))?;
        let freed = pending_free(scene, pool, first, 2 * MIB)?;
        let event = scene.recorded(first)?;
        ok!(cuStreamWaitEvent(second, event, 0));
        let address: Address =
            out(|address| cu!(cuMemAllocFromPoolAsync(address, 2 * MIB, pool, second)))?;
        holds!(is_busy(first)?);
        same!(address, freed);
        ok!(cuMemFreeAsync(address, second));
        ok!(cuCtxSynchronize());
        Ok(())
    })
}

/// A size that two of do not fit into what is reserved for one.
const LARGE: usize = 64 * MIB;

/// Whether a second stream gets what a busy first one has freed, with one policy on or none, after `between`.
fn is_reused(
    scene: &mut Scene,
    policy: Option<u32>,
    between: impl FnOnce(&mut Scene, Handle, Handle) -> Outcome,
) -> Outcome<bool> {
    let mut is_reused = false;
    with_pool(scene, |scene, pool| {
        only(pool, policy)?;
        same!(set(pool, RELEASE_THRESHOLD, u64::MAX), SUCCESS);
        let (first, second) = (scene.non_blocking()?, scene.non_blocking()?);
        let event = scene.event()?;
        let freed = out(|address| cu!(cuMemAllocFromPoolAsync(address, LARGE, pool, first)))?;
        scene.busy(first)?;
        ok!(cuEventRecord(event, first));
        ok!(cuMemFreeAsync(freed, first));
        ok!(cuStreamWaitEvent(second, event, 0));
        between(scene, first, second)?;
        let address = out(|address| cu!(cuMemAllocFromPoolAsync(address, LARGE, pool, second)))?;
        is_reused = address == freed;
        ok!(cuMemFreeAsync(address, second));
        ok!(cuCtxSynchronize());
        Ok(())
    })?;
    Ok(is_reused)
}

fn an_event_before_the_free_lets_no_reuse(scene: &mut Scene) -> Outcome {
    let reused = is_reused(scene, Some(FOLLOW_EVENTS), |_, first, _| {
        holds!(is_busy(first)?);
        Ok(())
    })?;
    holds!(!reused);
    Ok(())
}

fn synchronised_frees_are_reused(scene: &mut Scene) -> Outcome {
    for wait in 0..3 {
        let reused = is_reused(scene, None, |scene, first, _| {
            match wait {
                0 => ok!(cuStreamSynchronize(first)),
                1 => ok!(cuEventSynchronize(scene.recorded(first)?)),
                _ => ok!(cuCtxSynchronize()),
            }
            Ok(())
        })?;
        same!((wait, reused), (wait, true));
    }
    Ok(())
}

fn completed_frees_are_reused(scene: &mut Scene) -> Outcome {
    let reused = is_reused(scene, Some(OPPORTUNISTIC), |_, first, _| {
        while is_busy(first)? {}
        Ok(())
    })?;
    holds!(reused);
    Ok(())
}

/// A pool that cannot have more than [`LARGE`].
fn with_limited_pool(
    scene: &mut Scene,
    body: impl FnOnce(&mut Scene, Handle) -> Outcome,
) -> Outcome {
    let mut properties = properties(scene);
    properties.max_size = LARGE;
    let pool = out(|pool| cu!(cuMemPoolCreate(pool, &properties)))?;
    let outcome = body(scene, pool);
    ok!(cuMemPoolDestroy(pool));
    outcome
}

fn size_of_a_pool_is_limited(scene: &mut Scene) -> Outcome {
    with_limited_pool(scene, |_, pool| {
        let mut address = 0;
        gives!(
            OUT_OF_MEMORY,
            cuMemAllocFromPoolAsync(&mut address, LARGE + 1, pool, 0)
        );
        free(allocate(pool, LARGE)?)
    })
}

fn a_full_pool_makes_the_stream_wait(scene: &mut Scene) -> Outcome {
    for (policy, code) in [
        (Some(INTERNAL_DEPENDENCIES), SUCCESS),
        (None, OUT_OF_MEMORY),
    ] {
        with_limited_pool(scene, |scene, pool| {
            only(pool, policy)?;
            let (first, second) = (scene.non_blocking()?, scene.non_blocking()?);
            let freed = pending_free(scene, pool, first, LARGE)?;
            let mut address = 0;
            let came = cu!(cuMemAllocFromPoolAsync(&mut address, LARGE, pool, second));
            let waits = is_busy(second)?;
            if came == SUCCESS {
                ok!(cuMemFreeAsync(address, second));
            }
            ok!(cuCtxSynchronize());
            same!((came, waits), (code, code == SUCCESS));
            holds!(came != SUCCESS || address == freed);
            Ok(())
        })?;
    }
    Ok(())
}
