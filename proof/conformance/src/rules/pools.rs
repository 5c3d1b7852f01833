//! Memory pools and their attributes.

use std::ffi::c_void;

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::Scene;
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "pools";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(default_pool_is_current, "cuDeviceGetMemPool",
        "The current pool of a device is its default pool until another is set."),
    rule!(current_pool_can_be_set, "cuDeviceSetMemPool", "The pool that was set is the current one, and serves cuMemAllocAsync."),
    rule!(pools_are_found_by_location, "cuMemGetMemPool",
        "The functions that name a location find a device's default and current pool, and set the current one."),
    rule!(default_pool_cannot_be_destroyed, "cuMemPoolDestroy", "The default pool of a device cannot be destroyed."),
    rule!(destroying_the_current_pool_sets_the_default, "cuMemPoolDestroy",
        "When the current pool is destroyed, the default pool is current again."),
    rule!(allocation_type_must_be_pinned, "cuMemPoolCreate", "Another allocation type than pinned is refused."),
    rule!(threshold_is_zero_at_first, "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD",
        "The release threshold of a new pool is 0, and keeps what it is set to."),
    rule!(reuse_is_allowed_at_first, "CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES",
        "A new pool allows all three kinds of reuse; each can be forbidden."),
    rule!(new_pool_is_empty, "CU_MEMPOOL_ATTR_USED_MEM_CURRENT", "A new pool has nothing reserved and nothing used."),
    rule!(used_follows_allocations, "CU_MEMPOOL_ATTR_USED_MEM_CURRENT",
        "The used memory grows with an allocation, and is zero again after its free."),
    rule!(reserved_covers_used, "CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT", "The reserved memory is at least the used memory."),
    rule!(high_marks_stay, "CU_MEMPOOL_ATTR_USED_MEM_HIGH", "The high-water mark holds the peak of the used memory."),
    rule!(high_marks_are_reset_by_zero, "CU_MEMPOOL_ATTR_USED_MEM_HIGH", "Setting a high mark to zero resets it."),
    rule!(high_marks_take_zero_only, "CU_MEMPOOL_ATTR_USED_MEM_HIGH", "Setting a high mark to another value is refused."),
    rule!(current_marks_cannot_be_set, "CU_MEMPOOL_ATTR_USED_MEM_CURRENT", "The current use cannot be set."),
    rule!(unknown_attribute_is_refused, "cuMemPoolGetAttribute", "An unknown attribute can be neither read nor set."),
    rule!(pools_count_for_themselves, "cuMemAllocFromPoolAsync", "An allocation from one pool does not count in another."),
    rule!(synchronising_releases_above_the_threshold, "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD",
        "At a synchronisation memory above the threshold goes back: with 0, all that is free."),
    rule!(lower_threshold_keeps_nothing, "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD",
        "A pool with more reserved than the threshold gives back the memory of its only allocation, which is unused, as a whole."),
    rule!(threshold_that_is_reached_keeps_all, "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD",
        "A pool that has reserved no more than the threshold gives nothing back."),
    rule!(threshold_bounds_unused_memory, "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD",
        "Of two unused allocations no more than the threshold stays reserved."),
    rule!(synchronising_keeps_used_memory, "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD",
        "Memory in use stays, whatever the threshold is."),
    rule!(threshold_keeps_memory, "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD",
        "Memory up to the threshold stays reserved through synchronisations."),
    rule!(trimming_releases_free_memory, "cuMemPoolTrimTo", "Trimming to zero releases all that is free."),
    rule!(trimming_keeps_used_memory, "cuMemPoolTrimTo", "Trimming does not release allocated memory."),
    rule!(trimming_keeps_pending_frees, "cuMemPoolTrimTo",
        "Memory whose free is still to come counts as used when the pool is trimmed."),
    rule!(trimming_keeps_what_is_asked, "cuMemPoolTrimTo", "Trimming leaves at least the requested number of bytes reserved."),
    rule!(own_device_has_access, "cuMemPoolGetAccess", "The device that a pool belongs to reads and writes it."),
    rule!(destroyed_pool_keeps_its_allocations, "cuMemPoolDestroy",
        "An allocation from a destroyed pool is usable until it is freed."),
];

/// `CU_MEMPOOL_ATTR_*`.
pub(super) const REUSE: [u32; 3] = [1, 2, 3];
pub(super) const RELEASE_THRESHOLD: u32 = 4;
pub(super) const RESERVED_CURRENT: u32 = 5;
pub(super) const USED_CURRENT: u32 = 7;
const RESERVED_HIGH: u32 = 6;
const USED_HIGH: u32 = 8;

pub(super) const MIB: usize = 1 << 20;

/// What a pool of this device is made with.
pub(super) fn properties(scene: &Scene) -> MemPoolProps {
    MemPoolProps {
        allocation_type: 1,
        handle_types: 0,
        location: MemLocation {
            kind: 1,
            id: scene.device,
        },
        security_attributes: 0,
        max_size: 0,
        usage: 0,
        reserved: [0; 54],
    }
}

/// A new pool. The rule destroys it: pools do not end with a context.
pub(super) fn with_pool(
    scene: &mut Scene,
    body: impl FnOnce(&mut Scene, Handle) -> Outcome,
) -> Outcome {
    let properties = properties(scene);
    let pool = out(|pool| cu!(cuMemPoolCreate(pool, &properties)))?;
    let outcome = body(scene, pool);
    ok!(cuMemPoolDestroy(pool));
    outcome
}

pub(super) fn get(pool: Handle, attribute: u32) -> Outcome<u64> {
    let mut value = 0_u64;
    ok!(cuMemPoolGetAttribute(
        pool,
        attribute,
        (&raw mut value).cast::<c_void>()
    ));
    Ok(value)
}

pub(super) fn set(pool: Handle, attribute: u32, mut value: u64) -> Code {
    cu!(cuMemPoolSetAttribute(
        pool,
        attribute,
        (&raw mut value).cast::<c_void>()
    ))
}

/// Allocates in the legacy stream.
pub(super) fn allocate(pool: Handle, bytes: usize) -> Outcome<Address> {
    out(|address| cu!(cuMemAllocFromPoolAsync(address, bytes, pool, 0)))
}

pub(super) fn free(address: Address) -> Outcome {
    ok!(cuMemFreeAsync(address, 0));
    ok!(cuStreamSynchronize(0));
    Ok(())
}

pub(super) fn default_pool(scene: &Scene) -> Outcome<Handle> {
    out(|pool| cu!(cuDeviceGetDefaultMemPool(pool, scene.device)))
}

pub(super) fn current_pool(scene: &Scene) -> Outcome<Handle> {
    out(|pool| cu!(cuDeviceGetMemPool(pool, scene.device)))
}

fn default_pool_is_current(scene: &mut Scene) -> Outcome {
    same!(current_pool(scene)?, default_pool(scene)?);
    Ok(())
}

fn current_pool_can_be_set(scene: &mut Scene) -> Outcome {
    let default = default_pool(scene)?;
    with_pool(scene, |scene, pool| {
        ok!(cuDeviceSetMemPool(scene.device, pool));
        let current = current_pool(scene)?;
        let address: Address = out(|address| cu!(cuMemAllocAsync(address, MIB, 0)))?;
        let used = get(pool, USED_CURRENT)?;
        free(address)?;
        ok!(cuDeviceSetMemPool(scene.device, default));
        same!(current, pool);
        holds!(used >= MIB as u64);
        Ok(())
    })
}

fn pools_are_found_by_location(scene: &mut Scene) -> Outcome {
    /// `CU_MEM_ALLOCATION_TYPE_PINNED`.
    const PINNED: u32 = 1;
    let default = default_pool(scene)?;
    with_pool(scene, |scene, pool| {
        let location = properties(scene).location;
        same!(
            out(|pool| cu!(cuMemGetDefaultMemPool(pool, &location, PINNED)))?,
            default
        );
        ok!(cuMemSetMemPool(&location, PINNED, pool));
        let current = out(|pool| cu!(cuMemGetMemPool(pool, &location, PINNED)))?;
        ok!(cuMemSetMemPool(&location, PINNED, default));
        same!(current, pool);
        let (nowhere, mut none) = (MemLocation { kind: 1, id: 1000 }, 0);
        let code = cu!(cuMemGetMemPool(&mut none, &nowhere, PINNED));
        holds!([INVALID_VALUE, INVALID_DEVICE].contains(&code));
        Ok(())
    })
}

fn default_pool_cannot_be_destroyed(scene: &mut Scene) -> Outcome {
    let default = default_pool(scene)?;
    gives!(INVALID_VALUE, cuMemPoolDestroy(default));
    Ok(())
}

fn destroying_the_current_pool_sets_the_default(scene: &mut Scene) -> Outcome {
    let properties = properties(scene);
    let pool: Handle = out(|pool| cu!(cuMemPoolCreate(pool, &properties)))?;
    ok!(cuDeviceSetMemPool(scene.device, pool));
    ok!(cuMemPoolDestroy(pool));
    same!(current_pool(scene)?, default_pool(scene)?);
    Ok(())
}

fn allocation_type_must_be_pinned(scene: &mut Scene) -> Outcome {
    let (mut properties, mut pool) = (properties(scene), 0);
    properties.allocation_type = 0;
    gives!(INVALID_VALUE, cuMemPoolCreate(&mut pool, &properties));
    Ok(())
}

fn threshold_is_zero_at_first(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        same!(get(pool, RELEASE_THRESHOLD)?, 0);
        same!(set(pool, RELEASE_THRESHOLD, 123 << 20), SUCCESS);
        same!(get(pool, RELEASE_THRESHOLD)?, 123 << 20);
        Ok(())
    })
}

fn reuse_is_allowed_at_first(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        for attribute in REUSE {
            same!(get(pool, attribute)?, 1);
            same!(set(pool, attribute, 0), SUCCESS);
            same!(get(pool, attribute)?, 0);
        }
        Ok(())
    })
}

fn new_pool_is_empty(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        same!(
            (get(pool, RESERVED_CURRENT)?, get(pool, USED_CURRENT)?),
            (0, 0)
        );
        Ok(())
    })
}

fn used_follows_allocations(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        let address = allocate(pool, MIB)?;
        same!(get(pool, USED_CURRENT)?, MIB as u64);
        free(address)?;
        same!(get(pool, USED_CURRENT)?, 0);
        Ok(())
    })
}

fn reserved_covers_used(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        let addresses = [allocate(pool, 3 * MIB)?, allocate(pool, 50 * MIB)?];
        holds!(get(pool, RESERVED_CURRENT)? >= get(pool, USED_CURRENT)?);
        addresses.into_iter().try_for_each(free)
    })
}

fn high_marks_stay(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        free(allocate(pool, 5 * MIB)?)?;
        free(allocate(pool, MIB)?)?;
        same!(get(pool, USED_HIGH)?, 5 * MIB as u64);
        Ok(())
    })
}

fn high_marks_are_reset_by_zero(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        free(allocate(pool, 5 * MIB)?)?;
        same!(set(pool, USED_HIGH, 0), SUCCESS);
        same!(get(pool, USED_HIGH)?, 0);
        holds!(get(pool, RESERVED_HIGH)? >= 5 * MIB as u64);
        same!(set(pool, RESERVED_HIGH, 0), SUCCESS);
        same!(get(pool, RESERVED_HIGH)?, get(pool, RESERVED_CURRENT)?);
        free(allocate(pool, 2 * MIB)?)?;
        same!(get(pool, USED_HIGH)?, 2 * MIB as u64);
        Ok(())
    })
}

fn high_marks_take_zero_only(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        same!(set(pool, USED_HIGH, 1), INVALID_VALUE);
        same!(set(pool, RESERVED_HIGH, 1), INVALID_VALUE);
        Ok(())
    })
}

fn current_marks_cannot_be_set(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        same!(set(pool, USED_CURRENT, 0), INVALID_VALUE);
        same!(set(pool, RESERVED_CURRENT, 0), INVALID_VALUE);
        Ok(())
    })
}

fn unknown_attribute_is_refused(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        let mut value = 0_u64;
        gives!(
            INVALID_VALUE,
            cuMemPoolGetAttribute(pool, 1000, (&raw mut value).cast())
        );
        same!(set(pool, 1000, 0), INVALID_VALUE);
        Ok(())
    })
}

fn pools_count_for_themselves(scene: &mut Scene) -> Outcome {
    with_pool(scene, |scene, first| {
        with_pool(scene, |_, second| {
            let address = allocate(first, MIB)?;
            let used = get(second, USED_CURRENT)?;
            free(address)?;
            same!(used, 0);
            Ok(())
        })
    })
}

fn synchronising_releases_above_the_threshold(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        free(allocate(pool, 40 * MIB)?)?;
        ok!(cuCtxSynchronize());
        same!(get(pool, RESERVED_CURRENT)?, 0);
        Ok(())
    })
}

/// What the pool has reserved after an allocation, and after its free and a synchronisation.
fn reserved_and_kept(pool: Handle, bytes: usize) -> Outcome<[u64; 2]> {
    let address = allocate(pool, bytes)?;
    let reserved = get(pool, RESERVED_CURRENT)?;
    free(address)?;
    ok!(cuCtxSynchronize());
    Ok([reserved, get(pool, RESERVED_CURRENT)?])
}

fn lower_threshold_keeps_nothing(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        let [reserved, _] = reserved_and_kept(pool, 16 * MIB)?;
        for threshold in [0, 1, MIB as u64, reserved - 1] {
            same!(set(pool, RELEASE_THRESHOLD, threshold), SUCCESS);
            same!(
                (threshold, reserved_and_kept(pool, 16 * MIB)?[1]),
                (threshold, 0)
            );
        }
        Ok(())
    })
}

fn threshold_that_is_reached_keeps_all(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        let [reserved, _] = reserved_and_kept(pool, 16 * MIB)?;
        for threshold in [reserved, 2 * reserved, u64::MAX] {
            same!(set(pool, RELEASE_THRESHOLD, threshold), SUCCESS);
            let kept = reserved_and_kept(pool, 16 * MIB)?[1];
            same!((threshold, kept), (threshold, reserved));
        }
        Ok(())
    })
}

fn threshold_bounds_unused_memory(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        for quarters in 0..4 {
            let addresses = [allocate(pool, 32 * MIB)?, allocate(pool, 32 * MIB)?];
            let threshold = get(pool, RESERVED_CURRENT)? / 4 * quarters;
            same!(set(pool, RELEASE_THRESHOLD, threshold), SUCCESS);
            for address in addresses {
                ok!(cuMemFreeAsync(address, 0));
            }
            ok!(cuCtxSynchronize());
            holds!(get(pool, RESERVED_CURRENT)? <= threshold);
        }
        Ok(())
    })
}

fn synchronising_keeps_used_memory(scene: &mut Scene) -> Outcome {
    with_pool(scene, |scene, pool| {
        let [used, unused] = [allocate(pool, 32 * MIB)?, allocate(pool, 32 * MIB)?];
        scene.store(used, 8, 0)?;
        free(unused)?;
        ok!(cuCtxSynchronize());
        holds!(get(pool, RESERVED_CURRENT)? >= 32 * MIB as u64);
        same!(scene.word(used)?, 8);
        free(used)
    })
}

fn threshold_keeps_memory(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        same!(set(pool, RELEASE_THRESHOLD, u64::MAX), SUCCESS);
        free(allocate(pool, 40 * MIB)?)?;
        ok!(cuCtxSynchronize());
        holds!(get(pool, RESERVED_CURRENT)? >= 40 * MIB as u64);
        Ok(())
    })
}

fn trimming_releases_free_memory(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        same!(set(pool, RELEASE_THRESHOLD, u64::MAX), SUCCESS);
        free(allocate(pool, 40 * MIB)?)?;
        ok!(cuMemPoolTrimTo(pool, 0));
        same!(get(pool, RESERVED_CURRENT)?, 0);
        Ok(())
    })
}

fn trimming_keeps_used_memory(scene: &mut Scene) -> Outcome {
    with_pool(scene, |scene, pool| {
        let address = allocate(pool, MIB)?;
        scene.store(address, 5, 0)?;
        ok!(cuCtxSynchronize());
        ok!(cuMemPoolTrimTo(pool, 0));
        holds!(get(pool, RESERVED_CURRENT)? >= MIB as u64);
        same!(scene.word(address)?, 5);
        free(address)
    })
}

fn trimming_keeps_pending_frees(scene: &mut Scene) -> Outcome {
    with_pool(scene, |scene, pool| {
        let address = allocate(pool, 40 * MIB)?;
        scene.busy(0)?;
        ok!(cuMemFreeAsync(address, 0));
        ok!(cuMemPoolTrimTo(pool, 0));
        let reserved = get(pool, RESERVED_CURRENT)?;
        ok!(cuStreamSynchronize(0));
        holds!(reserved >= 40 * MIB as u64);
        Ok(())
    })
}

fn trimming_keeps_what_is_asked(scene: &mut Scene) -> Outcome {
    with_pool(scene, |_, pool| {
        same!(set(pool, RELEASE_THRESHOLD, u64::MAX), SUCCESS);
        free(allocate(pool, 40 * MIB)?)?;
        ok!(cuMemPoolTrimTo(pool, 10 * MIB));
        holds!(get(pool, RESERVED_CURRENT)? >= 10 * MIB as u64);
        Ok(())
    })
}

fn own_device_has_access(scene: &mut Scene) -> Outcome {
    /// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
    const READ_WRITE: u32 = 3;
    with_pool(scene, |scene, pool| {
        let mut location = MemLocation {
            kind: 1,
            id: scene.device,
        };
        let flags: u32 = out(|flags| cu!(cuMemPoolGetAccess(flags, pool, &mut location)))?;
        same!(flags, READ_WRITE);
        Ok(())
    })
}

fn destroyed_pool_keeps_its_allocations(scene: &mut Scene) -> Outcome {
    let properties = properties(scene);
    let pool: Handle = out(|pool| cu!(cuMemPoolCreate(pool, &properties)))?;
    let address = allocate(pool, MIB)?;
    ok!(cuMemPoolDestroy(pool));
    scene.store(address, 6, 0)?;
    same!(scene.word(address)?, 6);
    free(address)
}
