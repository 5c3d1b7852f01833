//! Contexts: created and primary ones, and each thread's stack of them.

use std::ptr::null_mut;

use crate::api::*;
use crate::rule::{Outcome, Rule, on_thread, out};
use crate::scene::{Scene, is_busy};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "contexts";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(created_context_is_current, "cuCtxCreate", "A created context is current to the thread that made it."),
    rule!(destroyed_context_is_popped, "cuCtxDestroy", "Destroying the current context pops it: the one below is current again."),
    rule!(destroyed_elsewhere_it_stays_current, "cuCtxDestroy",
        "A context that another thread destroyed stays current, and calls that need it say that it is destroyed."),
    rule!(destroying_null_is_refused, "cuCtxDestroy", "Destroying a null context is refused."),
    rule!(pushed_context_is_popped_first, "cuCtxPushCurrent",
        "Contexts are popped in the opposite order in which they were pushed."),
    rule!(context_can_be_pushed_twice, "cuCtxPushCurrent", "The stack may hold a context more than once."),
    rule!(popping_nothing_is_refused, "cuCtxPopCurrent", "Popping an empty stack is refused."),
    rule!(set_current_replaces_the_top, "cuCtxSetCurrent", "Setting the current context replaces the top of the stack."),
    rule!(set_current_null_pops, "cuCtxSetCurrent", "Setting no context pops the top of the stack."),
    rule!(set_current_null_on_nothing_succeeds, "cuCtxSetCurrent", "Setting a null context on an empty stack has no effect."),
    rule!(threads_start_without_a_context, "CUDA programming guide, driver API, context",
        "A new thread has no current context, and asking for it succeeds with null."),
    rule!(calls_need_a_context, "CUDA programming guide, driver API, context",
        "Calls that need a context return an error without one."),
    rule!(a_context_serves_several_threads, "cuCtxSetCurrent",
        "Memory made by one thread is used by another to which the same context is current."),
    rule!(create_needs_a_device, "cuCtxCreate", "Creating a context on a device that does not exist is refused."),
    rule!(create_needs_a_pointer, "cuCtxCreate", "Creating a context without a place for its handle is refused."),
    rule!(schedules_exclude_each_other, "cuCtxCreate", "Two scheduling flags at once are refused."),
    rule!(flags_are_kept, "cuCtxGetFlags", "A context's flags are those that it was created with."),
    rule!(device_of_the_current_context, "cuCtxGetDevice", "The current context names its device."),
    rule!(handles_name_contexts, "cuCtxSynchronize_v2",
        "A context that is not current is asked for its device, and waited for, by its handle."),
    rule!(results_need_a_place, "cuCtxGetCurrent",
        "Asking for the current context, its device or its flags without a place for the answer is refused."),
    rule!(profiler_is_switched, "cuProfilerStart",
        "Switching the profiler on and off succeeds without one, and so does giving up persisting lines of L2."),
    rule!(ids_differ, "cuCtxGetId", "Every context has an identifier of its own; null asks for the current one's."),
    rule!(api_version_of_created_contexts, "cuCtxGetApiVersion", "A context made by cuCtxCreate_v2 has API version 3020."),
    rule!(limits_are_kept, "cuCtxSetLimit", "A stack size that was set is at least that large when asked for."),
    rule!(persisting_l2_is_limited, "cuCtxGetLimit",
        "Persisting lines of L2 are reserved in steps: no fewer bytes than asked for, and no more than the device allows."),
    rule!(limits_of_graphics_sharing_are_known, "cuCtxGetLimit",
        "The limits of contexts that share the device with graphics may be asked for in every context."),
    rule!(unknown_limit_is_refused, "cuCtxGetLimit", "An unknown limit is refused."),
    rule!(cache_config_is_kept, "cuCtxSetCacheConfig",
        "The preferred cache configuration starts as none, is kept when set, and must exist."),
    rule!(priorities_go_down_from_zero, "cuCtxGetStreamPriorityRange",
        "The least priority is 0, and the number of the greatest one is at most 0."),
    rule!(synchronize_waits_for_all_streams, "cuCtxSynchronize", "Synchronising a context waits for all of its streams."),
    rule!(synchronize_ignores_other_contexts, "cuCtxSynchronize",
        "Synchronising a context does not wait for the work of another."),
    rule!(stream_knows_its_context, "cuStreamGetCtx", "A stream names the context it was made in, whichever is current."),
];

fn current() -> Outcome<Handle> {
    out(|context| cu!(cuCtxGetCurrent(context)))
}

fn pop() -> Outcome<Handle> {
    out(|context| cu!(cuCtxPopCurrent_v2(context)))
}

fn another(scene: &Scene) -> Outcome<Handle> {
    out(|context| cu!(cuCtxCreate_v2(context, 0, scene.device)))
}

fn created_context_is_current(scene: &mut Scene) -> Outcome {
    same!(current()?, scene.context);
    let other = another(scene)?;
    same!(current()?, other);
    holds!(other != scene.context);
    ok!(cuCtxDestroy_v2(other));
    Ok(())
}

fn destroyed_context_is_popped(scene: &mut Scene) -> Outcome {
    let other = another(scene)?;
    ok!(cuCtxDestroy_v2(other));
    same!(current()?, scene.context);
    Ok(())
}

fn destroyed_elsewhere_it_stays_current(scene: &mut Scene) -> Outcome {
    let other = another(scene)?;
    on_thread(|| {
        ok!(cuCtxDestroy_v2(other));
        Ok(())
    })?;
    same!(current()?, other);
    gives!(CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    same!(pop()?, other);
    ok!(cuCtxSynchronize());
    Ok(())
}

fn destroying_null_is_refused(_: &mut Scene) -> Outcome {
    gives!(INVALID_VALUE, cuCtxDestroy_v2(0));
    Ok(())
}

fn pushed_context_is_popped_first(scene: &mut Scene) -> Outcome {
    let other = another(scene)?;
    same!(pop()?, other);
    same!(pop()?, scene.context);
    ok!(cuCtxPushCurrent_v2(other));
    ok!(cuCtxPushCurrent_v2(scene.context));
    same!(pop()?, scene.context);
    same!(current()?, other);
    same!(pop()?, other);
    ok!(cuCtxDestroy_v2(other));
    Ok(())
}

fn context_can_be_pushed_twice(scene: &mut Scene) -> Outcome {
    ok!(cuCtxPushCurrent_v2(scene.context));
    same!(pop()?, scene.context);
    same!(current()?, scene.context);
    Ok(())
}

fn popping_nothing_is_refused(scene: &mut Scene) -> Outcome {
    same!(pop()?, scene.context);
    let mut popped = 0;
    gives!(INVALID_CONTEXT, cuCtxPopCurrent_v2(&mut popped));
    Ok(())
}

fn set_current_replaces_the_top(scene: &mut Scene) -> Outcome {
    let other = another(scene)?;
    same!(pop()?, other);
    ok!(cuCtxSetCurrent(other));
    same!(pop()?, other);
    same!(current()?, 0);
    ok!(cuCtxDestroy_v2(other));
    Ok(())
}

fn set_current_null_pops(scene: &mut Scene) -> Outcome {
    ok!(cuCtxPushCurrent_v2(scene.context));
    ok!(cuCtxSetCurrent(0));
    same!(pop()?, scene.context);
    same!(current()?, 0);
    Ok(())
}

fn set_current_null_on_nothing_succeeds(scene: &mut Scene) -> Outcome {
    same!(pop()?, scene.context);
    ok!(cuCtxSetCurrent(0));
    same!(current()?, 0);
    Ok(())
}

fn threads_start_without_a_context(_: &mut Scene) -> Outcome {
    same!(on_thread(current)?, 0);
    Ok(())
}

fn calls_need_a_context(_: &mut Scene) -> Outcome {
    on_thread(|| {
        let (mut address, mut handle, mut device) = (0, 0, 0);
        gives!(INVALID_CONTEXT, cuMemAlloc_v2(&mut address, 4));
        gives!(INVALID_CONTEXT, cuStreamCreate(&mut handle, 0));
        gives!(INVALID_CONTEXT, cuEventCreate(&mut handle, 0));
        gives!(INVALID_CONTEXT, cuCtxGetDevice(&mut device));
        gives!(INVALID_CONTEXT, cuCtxSynchronize());
        Ok(())
    })
}

fn a_context_serves_several_threads(scene: &mut Scene) -> Outcome {
    let (context, address) = (scene.context, scene.device(4)?);
    on_thread(|| {
        ok!(cuCtxSetCurrent(context));
        ok!(cuMemsetD32_v2(address, 7, 1));
        ok!(cuCtxSynchronize());
        Ok(())
    })?;
    same!(scene.word(address)?, 7);
    Ok(())
}

fn create_needs_a_device(_: &mut Scene) -> Outcome {
    let mut context = 0;
    gives!(INVALID_DEVICE, cuCtxCreate_v2(&mut context, 0, 1000));
    Ok(())
}

fn create_needs_a_pointer(scene: &mut Scene) -> Outcome {
    gives!(INVALID_VALUE, cuCtxCreate_v2(null_mut(), 0, scene.device));
    Ok(())
}

/// `CU_CTX_SCHED_SPIN`, `_YIELD` and `_BLOCKING_SYNC`.
const SPIN: u32 = 1;
const YIELD: u32 = 2;
const BLOCKING: u32 = 4;
const SCHEDULE_MASK: u32 = 7;

fn schedules_exclude_each_other(scene: &mut Scene) -> Outcome {
    let mut context = 0;
    gives!(
        INVALID_VALUE,
        cuCtxCreate_v2(&mut context, SPIN | YIELD, scene.device)
    );
    Ok(())
}

fn flags_are_kept(scene: &mut Scene) -> Outcome {
    let other = out(|context| cu!(cuCtxCreate_v2(context, BLOCKING, scene.device)))?;
    let flags: u32 = out(|flags| cu!(cuCtxGetFlags(flags)))?;
    same!(flags & SCHEDULE_MASK, BLOCKING);
    ok!(cuCtxDestroy_v2(other));
    Ok(())
}

fn device_of_the_current_context(scene: &mut Scene) -> Outcome {
    let device: i32 = out(|device| cu!(cuCtxGetDevice(device)))?;
    same!(device, scene.device);
    Ok(())
}

fn handles_name_contexts(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(stream)?;
    let other = another(scene)?;
    let device: i32 = out(|device| cu!(cuCtxGetDevice_v2(device, scene.context)))?;
    ok!(cuCtxSynchronize_v2(scene.context));
    same!((device, is_busy(stream)?), (scene.device, false));
    ok!(cuCtxDestroy_v2(other));
    Ok(())
}

fn results_need_a_place(_: &mut Scene) -> Outcome {
    gives!(INVALID_VALUE, cuCtxGetCurrent(null_mut()));
    gives!(INVALID_VALUE, cuCtxGetDevice(null_mut()));
    gives!(INVALID_VALUE, cuCtxGetFlags(null_mut()));
    Ok(())
}

fn profiler_is_switched(_: &mut Scene) -> Outcome {
    ok!(cuProfilerStart());
    ok!(cuProfilerStop());
    ok!(cuCtxResetPersistingL2Cache());
    Ok(())
}

fn ids_differ(scene: &mut Scene) -> Outcome {
    let first: u64 = out(|id| cu!(cuCtxGetId(0, id)))?;
    let again: u64 = out(|id| cu!(cuCtxGetId(scene.context, id)))?;
    same!(first, again);
    let other = another(scene)?;
    let second: u64 = out(|id| cu!(cuCtxGetId(other, id)))?;
    holds!(first != second);
    ok!(cuCtxDestroy_v2(other));
    Ok(())
}

fn api_version_of_created_contexts(scene: &mut Scene) -> Outcome {
    let version: u32 = out(|version| cu!(cuCtxGetApiVersion(scene.context, version)))?;
    same!(version, 3020);
    Ok(())
}

/// `CU_LIMIT_STACK_SIZE`.
const STACK_SIZE: u32 = 0;

fn limits_are_kept(_: &mut Scene) -> Outcome {
    ok!(cuCtxSetLimit(STACK_SIZE, 4096));
    let bytes: usize = out(|bytes| cu!(cuCtxGetLimit(bytes, STACK_SIZE)))?;
    holds!(bytes >= 4096);
    Ok(())
}

fn persisting_l2_is_limited(scene: &mut Scene) -> Outcome {
    /// `CU_LIMIT_PERSISTING_L2_CACHE_SIZE`.
    const PERSISTING_L2: u32 = 6;
    /// `CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE`.
    const MOST: u32 = 108;
    let most = scene.attribute(MOST)? as usize;
    let kept = || out::<usize>(|bytes| cu!(cuCtxGetLimit(bytes, PERSISTING_L2)));
    holds!(kept()? <= most);
    let asked = most.min(1 << 20);
    ok!(cuCtxSetLimit(PERSISTING_L2, asked));
    holds!((asked..=most).contains(&kept()?));
    ok!(cuCtxSetLimit(PERSISTING_L2, 0));
    same!(kept()?, 0);
    Ok(())
}

fn limits_of_graphics_sharing_are_known(_: &mut Scene) -> Outcome {
    /// `CU_LIMIT_SHMEM_SIZE` and `CU_LIMIT_CIG_ENABLED`.
    const SHARED_BYTES: u32 = 7;
    const ENABLED: u32 = 8;
    let _: usize = out(|bytes| cu!(cuCtxGetLimit(bytes, SHARED_BYTES)))?;
    same!(
        out::<usize>(|enabled| cu!(cuCtxGetLimit(enabled, ENABLED)))?,
        0
    );
    Ok(())
}

fn unknown_limit_is_refused(_: &mut Scene) -> Outcome {
    let mut value = 0;
    gives!(INVALID_VALUE, cuCtxGetLimit(&mut value, 1000));
    Ok(())
}

/// `CU_FUNC_CACHE_PREFER_NONE` and `_PREFER_L1`.
const PREFER_NONE: u32 = 0;
const PREFER_L1: u32 = 2;

fn cache_config_is_kept(_: &mut Scene) -> Outcome {
    same!(out(|config| cu!(cuCtxGetCacheConfig(config)))?, PREFER_NONE);
    ok!(cuCtxSetCacheConfig(PREFER_L1));
    same!(out(|config| cu!(cuCtxGetCacheConfig(config)))?, PREFER_L1);
    gives!(INVALID_VALUE, cuCtxSetCacheConfig(4));
    Ok(())
}

fn priorities_go_down_from_zero(_: &mut Scene) -> Outcome {
    let (mut least, mut greatest) = (9, 9);
    ok!(cuCtxGetStreamPriorityRange(&mut least, &mut greatest));
    same!(least, 0);
    holds!(greatest <= least);
    Ok(())
}

fn synchronize_waits_for_all_streams(scene: &mut Scene) -> Outcome {
    let (blocking, non_blocking) = (scene.stream()?, scene.non_blocking()?);
    scene.busy(blocking)?;
    scene.busy(non_blocking)?;
    ok!(cuCtxSynchronize());
    holds!(!is_busy(blocking)?);
    holds!(!is_busy(non_blocking)?);
    Ok(())
}

fn synchronize_ignores_other_contexts(scene: &mut Scene) -> Outcome {
    let other = another(scene)?;
    same!(pop()?, other);
    let stream = scene.stream()?;
    scene.busy(stream)?;
    ok!(cuCtxPushCurrent_v2(other));
    ok!(cuCtxSynchronize());
    same!(pop()?, other);
    holds!(is_busy(stream)?);
    ok!(cuCtxDestroy_v2(other));
    Ok(())
}

fn stream_knows_its_context(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    let other = another(scene)?;
    let context: Handle = out(|context| cu!(cuStreamGetCtx(stream, context)))?;
    same!(context, scene.context);
    ok!(cuCtxDestroy_v2(other));
    Ok(())
}
