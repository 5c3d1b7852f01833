//! Several devices, and access from one to the memory of another.

use crate::api::*;
use crate::rule::{Failure, Outcome, Rule, out};
use crate::scene::{Scene, is_pending};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "peers";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(own_memory_is_no_peers, "cuDeviceCanAccessPeer", "A device is no peer of its own."),
    rule!(own_context_is_no_peer, "cuCtxEnablePeerAccess", "A context cannot enable access to itself."),
    rule!(twin_context_is_no_peer, "cuCtxEnablePeerAccess",
        "A context cannot enable access to another context of its own device."),
    rule!(peers_are_devices, "cuDeviceCanAccessPeer", "Asking about a device that does not exist is refused."),
    rule!(copies_between_contexts, "cuMemcpyPeer", "cuMemcpyPeer copies between two contexts of one device."),
    rule!(copies_between_contexts_stay_inside, "cuMemcpyPeer", "A copy between contexts that leaves its allocation is refused."),
    rule!(boxes_between_contexts, "cuMemcpy3DPeer", "A box is copied between contexts, and the bytes around it stay."),
    rule!(devices_differ, "cuDeviceGetUuid", "Two devices have different UUIDs, and each is found by its bus identifier."),
    rule!(primary_contexts_are_of_their_device, "cuDevicePrimaryCtxRetain",
        "Each device has a primary context of its own, and counts its retains."),
    rule!(contexts_are_of_their_device, "cuCtxGetDevice",
        "A context made on the second device says so, and so does memory allocated in it."),
    rule!(copies_between_devices, "cuMemcpyPeer", "cuMemcpyPeer copies between devices, whether access is enabled or not."),
    rule!(unified_copies_between_devices, "cuMemcpy", "cuMemcpy copies between devices by their addresses."),
    rule!(events_order_devices, "cuStreamWaitEvent", "A stream of one device waits for an event of another."),
    rule!(events_are_recorded_on_their_device, "cuEventRecord", "An event is not recorded in a stream of another device."),
    rule!(access_is_enabled_once, "cuCtxEnablePeerAccess",
        "Enabling access that is enabled is refused, and so is disabling access that is not."),
    rule!(access_takes_no_flags, "cuCtxEnablePeerAccess", "Enabling access takes no flags."),
    rule!(kernels_reach_peer_memory, "cuCtxEnablePeerAccess",
        "With access enabled a kernel stores into the memory of another device."),
    rule!(asynchronous_copies_between_devices, "cuMemcpyPeerAsync",
        "cuMemcpyPeerAsync keeps the order of its stream and does not wait."),
    rule!(copies_between_devices_refuse_null, "cuMemcpyPeer", "A copy between devices from a null address is refused."),
    rule!(attributes_need_two_devices, "cuDeviceGetP2PAttribute",
        "Asking for an attribute between a device and itself is refused."),
    rule!(access_is_of_one_direction, "cuCtxEnablePeerAccess",
        "Access enabled from one context to another is not enabled the other way."),
    rule!(streams_are_of_their_device, "cuLaunchKernel", "A kernel of one device is not launched in a stream of another."),
    rule!(pool_grants_access, "cuMemPoolSetAccess",
        "A pool is accessed by another device from when it grants that until it takes that back."),
    rule!(streams_device_serves, "cuMemAllocAsync",
        "Memory is taken from the pool of the stream's device, whichever context is current."),
    rule!(a_device_takes_its_own_pools, "cuDeviceSetMemPool", "A pool of another device cannot be a device's current pool."),
    rule!(copies_need_the_pools_access, "cuMemPoolSetAccess",
        "Until a pool grants a device access, copies of its contexts from and to the pool's memory are refused."),
    rule!(sets_need_the_pools_access, "cuMemPoolSetAccess",
        "Until a pool grants a device access, memsets in its streams of the pool's memory are refused."),
    rule!(context_copies_and_stream_sets, "cuMemPoolSetAccess",
        "The current context needs access for a copy, and the stream's device for a memset (seen on an H100)."),
    rule!(peer_copies_need_no_access_to_pools, "cuMemcpyPeer",
        "cuMemcpyPeer and cuMemcpyPeerAsync copy from a pool that does not grant access."),
    rule!(copies_reach_pools_that_grant_access, "cuMemPoolSetAccess",
        "When a pool grants a device access, copies of its contexts reach the pool's memory."),
    rule!(without_access_kernels_fail, "cuCtxEnablePeerAccess",
        "Without access enabled a kernel that stores into the memory of another device fails.").in_process(),
    rule!(disabled_access_ends, "cuCtxDisablePeerAccess",
        "After access is disabled a kernel that stores into the memory of another device fails.").in_process(),
];

fn create(device: i32) -> Outcome<Handle> {
    out(|context| cu!(cuCtxCreate_v2(context, 0, device)))
}

/// Hands `body` a context on the second device, which is current meanwhile.
fn with_other(scene: &mut Scene, body: impl FnOnce(&mut Scene, Handle) -> Outcome) -> Outcome {
    let other = create(scene.other_device()?)?;
    let outcome = body(scene, other);
    ok!(cuCtxDestroy_v2(other));
    outcome
}

/// Runs `body` with the scene's own context current.
fn at_home<T>(scene: &mut Scene, body: impl FnOnce(&mut Scene) -> Outcome<T>) -> Outcome<T> {
    ok!(cuCtxPushCurrent_v2(scene.context));
    let outcome = body(scene);
    let mut popped = 0;
    ok!(cuCtxPopCurrent_v2(&mut popped));
    outcome
}

fn own_memory_is_no_peers(scene: &mut Scene) -> Outcome {
    let can: i32 = out(|can| cu!(cuDeviceCanAccessPeer(can, scene.device, scene.device)))?;
    same!(can, 0);
    Ok(())
}

fn own_context_is_no_peer(scene: &mut Scene) -> Outcome {
    gives!(
        PEER_ACCESS_UNSUPPORTED,
        cuCtxEnablePeerAccess(scene.context, 0)
    );
    Ok(())
}

fn twin_context_is_no_peer(scene: &mut Scene) -> Outcome {
    let twin = create(scene.device)?;
    let code = at_home(scene, |_| Ok(cu!(cuCtxEnablePeerAccess(twin, 0))));
    ok!(cuCtxDestroy_v2(twin));
    same!(code?, PEER_ACCESS_UNSUPPORTED);
    Ok(())
}

fn peers_are_devices(scene: &mut Scene) -> Outcome {
    let (mut can, nowhere) = (0, 1000);
    gives!(
        INVALID_DEVICE,
        cuDeviceCanAccessPeer(&mut can, scene.device, nowhere)
    );
    gives!(
        INVALID_DEVICE,
        cuDeviceGetP2PAttribute(&mut can, 2, scene.device, nowhere)
    );
    Ok(())
}

fn copies_between_contexts(scene: &mut Scene) -> Outcome {
    let to = scene.device(4)?;
    let other = create(scene.device)?;
    let from = scene.device(4)?;
    ok!(cuMemsetD32_v2(from, 61, 1));
    ok!(cuCtxSynchronize());
    ok!(cuMemcpyPeer(to, scene.context, from, other, 4));
    ok!(cuCtxSynchronize());
    ok!(cuMemcpyPeer(to, scene.context, from, other, 0));
    ok!(cuCtxDestroy_v2(other));
    same!(scene.word(to)?, 61);
    Ok(())
}

fn copies_between_contexts_stay_inside(scene: &mut Scene) -> Outcome {
    /// A size that no allocator rounds up.
    const LARGE: usize = 32 << 20;
    let (from, to, own) = (scene.device(LARGE)?, scene.device(LARGE)?, scene.context);
    let end = LARGE as u64 - 32;
    gives!(INVALID_VALUE, cuMemcpyPeer(to + end, own, from, own, 64));
    gives!(INVALID_VALUE, cuMemcpyPeer(to, own, from + end, own, 64));
    Ok(())
}

fn boxes_between_contexts(scene: &mut Scene) -> Outcome {
    let side = |device, context| Side3D {
        kind: 2,
        device,
        reserved: context,
        pitch: 8,
        height: 4,
        ..Side3D::default()
    };
    let to = scene.device(64)?;
    let other = create(scene.device)?;
    let from = scene.device(64)?;
    ok!(cuMemsetD8_v2(from, 5, 64));
    let copy = Memcpy3D {
        from: side(from, other),
        to: side(to, scene.context),
        width: 3,
        height: 2,
        depth: 2,
    };
    ok!(cuMemcpy3DPeer(&copy));
    ok!(cuCtxSynchronize());
    ok!(cuCtxDestroy_v2(other));
    let inside = |at: usize| at % 8 < 3 && at / 8 % 4 < 2;
    let expected: Vec<u8> = (0..64).map(|at| 5 * u8::from(inside(at))).collect();
    same!(scene.bytes(to, 64)?, expected);
    Ok(())
}

fn devices_differ(scene: &mut Scene) -> Outcome {
    let other = scene.other_device()?;
    let uuid = |device| out(|uuid: *mut [u8; 16]| cu!(cuDeviceGetUuid_v2(uuid, device)));
    holds!(uuid(scene.device)? != uuid(other)?);
    for device in [scene.device, other] {
        let (mut text, mut found) = ([0; 32], -1);
        ok!(cuDeviceGetPCIBusId(text.as_mut_ptr(), 32, device));
        ok!(cuDeviceGetByPCIBusId(&mut found, text.as_ptr()));
        same!(found, device);
    }
    Ok(())
}

fn primary_contexts_are_of_their_device(scene: &mut Scene) -> Outcome {
    let devices = [scene.device, scene.other_device()?];
    let primary =
        devices.map(|device| out(|context| cu!(cuDevicePrimaryCtxRetain(context, device))));
    let [first, second]: [Outcome<Handle>; 2] = primary;
    holds!(first? != second?);
    let active = || -> Outcome<[i32; 2]> {
        let (mut flags, mut active) = (0, [9; 2]);
        for (device, active) in devices.into_iter().zip(&mut active) {
            ok!(cuDevicePrimaryCtxGetState(device, &mut flags, active));
        }
        Ok(active)
    };
    same!(active()?, [1, 1]);
    ok!(cuDevicePrimaryCtxRelease_v2(devices[0]));
    same!(active()?, [0, 1]);
    ok!(cuDevicePrimaryCtxRelease_v2(devices[1]));
    same!(active()?, [0, 0]);
    Ok(())
}

fn contexts_are_of_their_device(scene: &mut Scene) -> Outcome {
    /// `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`.
    const DEVICE_ORDINAL: u32 = 9;
    let expected = scene.other_device()?;
    with_other(scene, |scene, _| {
        let (address, mut ordinal) = (scene.device(4)?, -1_i32);
        same!(out(|device| cu!(cuCtxGetDevice(device)))?, expected);
        ok!(cuPointerGetAttribute(
            (&raw mut ordinal).cast(),
            DEVICE_ORDINAL,
            address
        ));
        same!(ordinal, expected);
        Ok(())
    })
}

fn copies_between_devices(scene: &mut Scene) -> Outcome {
    let to = scene.device(4)?;
    with_other(scene, |scene, other| {
        let from = scene.device(4)?;
        ok!(cuMemsetD32_v2(from, 62, 1));
        ok!(cuCtxSynchronize());
        ok!(cuMemcpyPeer(to, scene.context, from, other, 4));
        ok!(cuCtxSynchronize());
        same!(at_home(scene, |scene| scene.word(to))?, 62);
        Ok(())
    })
}

fn unified_copies_between_devices(scene: &mut Scene) -> Outcome {
    let to = scene.device(4)?;
    with_other(scene, |scene, _| {
        let from = scene.device(4)?;
        ok!(cuMemsetD32_v2(from, 63, 1));
        ok!(cuMemcpy(to, from, 4));
        ok!(cuCtxSynchronize());
        same!(at_home(scene, |scene| scene.word(to))?, 63);
        Ok(())
    })
}

fn events_order_devices(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(stream)?;
    let event = scene.recorded(stream)?;
    with_other(scene, |scene, _| {
        let foreign = scene.stream()?;
        ok!(cuStreamWaitEvent(foreign, event, 0));
        ok!(cuStreamSynchronize(foreign));
        holds!(!is_pending(event)?);
        Ok(())
    })
}

fn events_are_recorded_on_their_device(scene: &mut Scene) -> Outcome {
    let event = scene.event()?;
    with_other(scene, |scene, _| {
        let foreign = scene.stream()?;
        gives!(INVALID_HANDLE, cuEventRecord(event, foreign));
        Ok(())
    })
}

/// As [`with_other`], on devices that can access each other's memory.
fn with_peer(scene: &mut Scene, body: impl FnOnce(&mut Scene, Handle) -> Outcome) -> Outcome {
    let other = scene.other_device()?;
    let can: i32 = out(|can| cu!(cuDeviceCanAccessPeer(can, scene.device, other)))?;
    if can == 0 {
        return Err(Failure::device(
            "the devices cannot access each other's memory",
        ));
    }
    with_other(scene, body)
}

fn access_is_enabled_once(scene: &mut Scene) -> Outcome {
    with_peer(scene, |scene, other| {
        at_home(scene, |_| {
            gives!(PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(other));
            ok!(cuCtxEnablePeerAccess(other, 0));
            gives!(PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(other, 0));
            ok!(cuCtxDisablePeerAccess(other));
            gives!(PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(other));
            Ok(())
        })
    })
}

fn access_takes_no_flags(scene: &mut Scene) -> Outcome {
    with_peer(scene, |scene, other| {
        at_home(scene, |_| {
            gives!(INVALID_VALUE, cuCtxEnablePeerAccess(other, 1));
            Ok(())
        })
    })
}

fn kernels_reach_peer_memory(scene: &mut Scene) -> Outcome {
    with_peer(scene, |scene, other| {
        let address = scene.device(4)?;
        at_home(scene, |scene| {
            ok!(cuCtxEnablePeerAccess(other, 0));
            scene.store(address, 64, 0)?;
            ok!(cuCtxSynchronize());
            Ok(())
        })?;
        same!(scene.word(address)?, 64);
        Ok(())
    })
}

fn asynchronous_copies_between_devices(scene: &mut Scene) -> Outcome {
    let to = scene.device(4)?;
    with_other(scene, |scene, other| {
        let (from, stream) = (scene.device(4)?, scene.stream()?);
        scene.reload()?;
        scene.slow_store(from, 65, stream)?;
        ok!(cuMemcpyPeerAsync(to, scene.context, from, other, 4, stream));
        holds!(crate::scene::is_busy(stream)?);
        ok!(cuCtxSynchronize());
        same!(at_home(scene, |scene| scene.word(to))?, 65);
        Ok(())
    })
}

fn copies_between_devices_refuse_null(scene: &mut Scene) -> Outcome {
    let to = scene.device(4)?;
    with_other(scene, |scene, other| {
        gives!(INVALID_VALUE, cuMemcpyPeer(to, scene.context, 0, other, 4));
        Ok(())
    })
}

fn attributes_need_two_devices(scene: &mut Scene) -> Outcome {
    /// `CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED`.
    const ACCESS_SUPPORTED: u32 = 2;
    let mut value = 0;
    gives!(
        INVALID_DEVICE,
        cuDeviceGetP2PAttribute(&mut value, ACCESS_SUPPORTED, scene.device, scene.device)
    );
    Ok(())
}

fn access_is_of_one_direction(scene: &mut Scene) -> Outcome {
    with_peer(scene, |scene, other| {
        at_home(scene, |_| {
            ok!(cuCtxEnablePeerAccess(other, 0));
            Ok(())
        })?;
        gives!(
            PEER_ACCESS_NOT_ENABLED,
            cuCtxDisablePeerAccess(scene.context)
        );
        Ok(())
    })
}

fn streams_are_of_their_device(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("nothing")?;
    with_other(scene, |scene, _| {
        let foreign = scene.stream()?;
        same!(scene.try_launch(function, foreign, &[]), INVALID_HANDLE);
        Ok(())
    })
}

fn pool_grants_access(scene: &mut Scene) -> Outcome {
    let other = scene.other_device()?;
    with_peer(scene, |scene, _| {
        super::pools::with_pool(scene, |_, pool| {
            let mut location = MemLocation { kind: 1, id: other };
            let mut flags = || out(|flags| cu!(cuMemPoolGetAccess(flags, pool, &mut location)));
            same!(flags()?, 0);
            let granted = MemAccessDesc {
                location: MemLocation { kind: 1, id: other },
                flags: 3,
            };
            ok!(cuMemPoolSetAccess(pool, &granted, 1));
            same!(flags()?, 3);
            let revoked = MemAccessDesc {
                flags: 0,
                ..granted
            };
            ok!(cuMemPoolSetAccess(pool, &revoked, 1));
            same!(flags()?, 0);
            Ok(())
        })
    })
}

fn streams_device_serves(scene: &mut Scene) -> Outcome {
    /// `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`.
    const DEVICE_ORDINAL: u32 = 9;
    let expected = scene.other_device()?;
    with_other(scene, |scene, _| {
        let stream = scene.stream()?;
        let address = at_home(scene, |_| {
            out(|address| cu!(cuMemAllocAsync(address, 4, stream)))
        })?;
        let device = super::memory::attribute(DEVICE_ORDINAL, address);
        ok!(cuMemFreeAsync(address, stream));
        ok!(cuStreamSynchronize(stream));
        same!(device? as i32, expected);
        Ok(())
    })
}

fn a_device_takes_its_own_pools(scene: &mut Scene) -> Outcome {
    let other = scene.other_device()?;
    super::pools::with_pool(scene, |_, pool| {
        gives!(INVALID_VALUE, cuDeviceSetMemPool(other, pool));
        Ok(())
    })
}

/// Hands `body` one word of a pool of the scene's device, 67. A context on the second device is current meanwhile.
fn with_foreign_pool(
    scene: &mut Scene,
    body: impl FnOnce(&mut Scene, Handle, [Handle; 2], Address) -> Outcome,
) -> Outcome {
    with_peer(scene, |scene, other| {
        super::pools::with_pool(scene, |scene, pool| {
            let contexts = [scene.context, other];
            let address = at_home(scene, |_| {
                let address = super::pools::allocate(pool, 4)?;
                ok!(cuMemsetD32_v2(address, 67, 1));
                ok!(cuCtxSynchronize());
                Ok(address)
            })?;
            body(scene, pool, contexts, address)?;
            ok!(cuCtxSynchronize());
            at_home(scene, |_| super::pools::free(address))
        })
    })
}

/// Lets the second device read and write the memory of a pool.
fn grant(scene: &Scene, pool: Handle) -> Outcome {
    let granted = MemAccessDesc {
        location: MemLocation {
            kind: 1,
            id: scene.other_device()?,
        },
        flags: 3,
    };
    ok!(cuMemPoolSetAccess(pool, &granted, 1));
    Ok(())
}

fn copies_need_the_pools_access(scene: &mut Scene) -> Outcome {
    with_foreign_pool(scene, |scene, _, _, from| {
        let (to, stream, host) = (scene.device(4)?, scene.stream()?, scene.pinned(4)?);
        gives!(INVALID_VALUE, cuMemcpyDtoD_v2(to, from, 4));
        gives!(INVALID_VALUE, cuMemcpy(to, from, 4));
        gives!(INVALID_VALUE, cuMemcpyAsync(to, from, 4, stream));
        gives!(INVALID_VALUE, cuMemcpyDtoH_v2(host.pointer(), from, 4));
        gives!(
            INVALID_VALUE,
            cuMemcpyDtoHAsync_v2(host.pointer(), from, 4, stream)
        );
        gives!(INVALID_VALUE, cuMemcpyHtoD_v2(from, host.pointer(), 4));
        gives!(
            INVALID_VALUE,
            cuMemcpyHtoDAsync_v2(from, host.pointer(), 4, stream)
        );
        Ok(())
    })
}

fn sets_need_the_pools_access(scene: &mut Scene) -> Outcome {
    with_foreign_pool(scene, |scene, _, _, to| {
        let stream = scene.stream()?;
        gives!(INVALID_VALUE, cuMemsetD8_v2(to, 1, 4));
        gives!(INVALID_VALUE, cuMemsetD8Async(to, 1, 4, stream));
        Ok(())
    })
}

fn context_copies_and_stream_sets(scene: &mut Scene) -> Outcome {
    with_foreign_pool(scene, |scene, _, _, address| {
        let (there, host) = (scene.stream()?, scene.pinned(4)?);
        let home = at_home(scene, |scene| scene.stream())?;
        gives!(
            INVALID_VALUE,
            cuMemcpyDtoHAsync_v2(host.pointer(), address, 4, home)
        );
        ok!(cuMemsetD8Async(address, 1, 4, home));
        ok!(cuStreamSynchronize(home));
        at_home(scene, |_| {
            ok!(cuMemcpyDtoHAsync_v2(host.pointer(), address, 4, there));
            gives!(INVALID_VALUE, cuMemsetD8Async(address, 1, 4, there));
            ok!(cuStreamSynchronize(there));
            Ok(())
        })
    })
}

fn peer_copies_need_no_access_to_pools(scene: &mut Scene) -> Outcome {
    with_foreign_pool(scene, |scene, _, [home, other], from| {
        let (first, second, stream) = (scene.device(4)?, scene.device(4)?, scene.stream()?);
        ok!(cuMemcpyPeer(first, other, from, home, 4));
        ok!(cuMemcpyPeerAsync(second, other, from, home, 4, stream));
        same!((scene.word(first)?, scene.word(second)?), (67, 67));
        Ok(())
    })
}

fn copies_reach_pools_that_grant_access(scene: &mut Scene) -> Outcome {
    with_foreign_pool(scene, |scene, pool, _, from| {
        grant(scene, pool)?;
        let (to, stream) = (scene.device(8)?, scene.stream()?);
        ok!(cuMemcpyDtoD_v2(to, from, 4));
        ok!(cuMemcpyAsync(to + 4, from, 4, stream));
        same!((scene.word(to)?, scene.word(to + 4)?), (67, 67));
        same!(scene.word(from)?, 67);
        Ok(())
    })
}

fn without_access_kernels_fail(scene: &mut Scene) -> Outcome {
    with_peer(scene, |scene, _| {
        let address = scene.device(4)?;
        at_home(scene, |scene| {
            scene.store(address, 66, 0)?;
            gives!(ILLEGAL_ADDRESS, cuCtxSynchronize());
            Ok(())
        })
    })
}

fn disabled_access_ends(scene: &mut Scene) -> Outcome {
    with_peer(scene, |scene, other| {
        let address = scene.device(4)?;
        at_home(scene, |scene| {
            ok!(cuCtxEnablePeerAccess(other, 0));
            ok!(cuCtxDisablePeerAccess(other));
            scene.store(address, 66, 0)?;
            gives!(ILLEGAL_ADDRESS, cuCtxSynchronize());
            Ok(())
        })
    })
}
