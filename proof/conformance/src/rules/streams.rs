//! Streams as objects: flags, priorities, asking, waiting, destroying. What orders them is the family `stream_order`.

use std::ptr::null_mut;

use crate::api::*;
use crate::rule::{Outcome, Rule, on_thread, out};
use crate::scene::{Scene, is_busy, is_pending};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "streams";

/// The rules of this family.
pub const RULES: &[Rule] = &[
    rule!(
        flags_are_kept,
        "cuStreamGetFlags",
        "A stream's flags are those that it was created with."
    ),
    rule!(
        unknown_flags_are_refused,
        "cuStreamCreate",
        "Flags that do not exist are refused."
    ),
    rule!(
        a_place_for_the_handle_is_needed,
        "cuStreamCreate",
        "Creating a stream without a place for its handle is refused."
    ),
    rule!(
        default_streams_have_no_flags,
        "cuStreamGetFlags",
        "The legacy stream has no flags."
    ),
    rule!(
        priority_is_zero_by_default,
        "cuStreamGetPriority",
        "A stream of cuStreamCreate has priority 0, and so has the legacy stream."
    ),
    rule!(
        priority_is_kept,
        "cuStreamCreateWithPriority",
        "A priority within the range is kept."
    ),
    rule!(
        priority_is_clamped,
        "cuStreamCreateWithPriority",
        "A priority outside the range becomes the nearest one inside it."
    ),
    rule!(
        ids_are_unique,
        "cuStreamGetId",
        "Every stream has an identifier of its own, the default streams included."
    ),
    rule!(
        null_is_the_legacy_stream,
        "cuStreamGetId",
        "The null handle and CU_STREAM_LEGACY are one stream."
    ),
    rule!(
        null_is_the_per_thread_stream_to_ptsz,
        "API synchronization behavior, default stream",
        "To the symbols that end in _ptsz the null handle is the per-thread default stream."
    ),
    rule!(
        default_stream_is_of_the_current_context,
        "cuStreamGetCtx",
        "The legacy stream belongs to the current context."
    ),
    rule!(
        new_stream_is_idle,
        "cuStreamQuery",
        "A stream without work is complete."
    ),
    rule!(
        query_says_not_ready,
        "cuStreamQuery",
        "While work is left, a query says not ready, and does not wait."
    ),
    rule!(
        synchronize_waits_for_the_stream,
        "cuStreamSynchronize",
        "cuStreamSynchronize returns when the stream's work is done."
    ),
    rule!(
        synchronize_waits_for_that_stream_only,
        "cuStreamSynchronize",
        "cuStreamSynchronize does not wait for another stream."
    ),
    rule!(
        launches_do_not_wait,
        "CUDA programming guide, asynchronous concurrent execution",
        "A launch returns before the kernel ends."
    ),
    rule!(
        destroying_does_not_wait,
        "cuStreamDestroy",
        "Destroying a stream with work returns at once."
    ),
    rule!(
        work_of_a_destroyed_stream_is_done,
        "cuStreamDestroy",
        "Work enqueued in a stream before it was destroyed completes."
    ),
    rule!(
        synchronize_waits_for_destroyed_streams,
        "cuStreamDestroy",
        "cuCtxSynchronize waits for the work of a stream that was destroyed."
    ),
    rule!(
        null_cannot_be_destroyed,
        "cuStreamDestroy",
        "The default stream cannot be destroyed."
    ),
    rule!(
        hundreds_of_streams,
        "cuStreamCreate",
        "A context holds hundreds of streams, and each does its work."
    ),
    rule!(
        waiting_takes_no_flags,
        "cuStreamWaitEvent",
        "Flags that do not exist are refused."
    ),
    rule!(
        per_thread_stream_has_work_of_its_own,
        "Stream synchronization behavior, per-thread default stream",
        "Each thread has a default stream of its own: the work of one does not keep the other's busy."
    ),
];

fn flags(stream: Handle) -> Outcome<u32> {
    out(|flags| cu!(cuStreamGetFlags(stream, flags)))
}

fn priority(stream: Handle) -> Outcome<i32> {
    out(|priority| cu!(cuStreamGetPriority(stream, priority)))
}

fn id(stream: Handle) -> Outcome<u64> {
    out(|id| cu!(cuStreamGetId(stream, id)))
}

fn flags_are_kept(scene: &mut Scene) -> Outcome {
    same!(flags(scene.stream()?)?, 0);
    same!(flags(scene.non_blocking()?)?, NON_BLOCKING);
    Ok(())
}

fn unknown_flags_are_refused(_: &mut Scene) -> Outcome {
    let mut stream = 0;
    gives!(INVALID_VALUE, cuStreamCreate(&mut stream, 0x100));
    Ok(())
}

fn a_place_for_the_handle_is_needed(_: &mut Scene) -> Outcome {
    gives!(INVALID_VALUE, cuStreamCreate(null_mut(), 0));
    Ok(())
}

fn default_streams_have_no_flags(_: &mut Scene) -> Outcome {
    same!(flags(0)?, 0);
    same!(flags(LEGACY)?, 0);
    Ok(())
}

fn priority_is_zero_by_default(scene: &mut Scene) -> Outcome {
    same!(priority(scene.stream()?)?, 0);
    same!(priority(0)?, 0);
    Ok(())
}

fn range() -> Outcome<(i32, i32)> {
    let (mut least, mut greatest) = (0, 0);
    ok!(cuCtxGetStreamPriorityRange(&mut least, &mut greatest));
    Ok((least, greatest))
}

fn with_priority(priority: i32) -> Outcome<Handle> {
    out(|stream| cu!(cuStreamCreateWithPriority(stream, NON_BLOCKING, priority)))
}

fn priority_is_kept(_: &mut Scene) -> Outcome {
    let (least, greatest) = range()?;
    for wanted in greatest..=least {
        let stream = with_priority(wanted)?;
        same!(priority(stream)?, wanted);
        same!(flags(stream)?, NON_BLOCKING);
    }
    Ok(())
}

fn priority_is_clamped(_: &mut Scene) -> Outcome {
    let (least, greatest) = range()?;
    same!(priority(with_priority(least + 100)?)?, least);
    same!(priority(with_priority(greatest - 100)?)?, greatest);
    Ok(())
}

fn ids_are_unique(scene: &mut Scene) -> Outcome {
    let streams = [
        scene.stream()?,
        scene.non_blocking()?,
        scene.stream()?,
        LEGACY,
        PER_THREAD,
    ];
    let mut ids = Vec::new();
    for stream in streams {
        ids.push(id(stream)?);
    }
    ids.sort_unstable();
    ids.dedup();
    same!(ids.len(), streams.len());
    Ok(())
}

fn null_is_the_legacy_stream(_: &mut Scene) -> Outcome {
    same!(id(0)?, id(LEGACY)?);
    Ok(())
}

fn null_is_the_per_thread_stream_to_ptsz(scene: &mut Scene) -> Outcome {
    same!(out(|id| cu!(cuStreamGetId_ptsz(0, id)))?, id(PER_THREAD)?);
    let (blocking, address) = (scene.stream()?, scene.device(4)?);
    scene.busy(blocking)?;
    ok!(cuMemsetD8Async_ptsz(address, 1, 4, 0));
    ok!(cuStreamSynchronize(PER_THREAD));
    holds!(is_busy(blocking)?);
    same!(scene.word(address)?, 0x0101_0101);
    Ok(())
}

fn default_stream_is_of_the_current_context(scene: &mut Scene) -> Outcome {
    let context: Handle = out(|context| cu!(cuStreamGetCtx(0, context)))?;
    same!(context, scene.context);
    Ok(())
}

fn new_stream_is_idle(scene: &mut Scene) -> Outcome {
    ok!(cuStreamQuery(scene.stream()?));
    ok!(cuStreamQuery(0));
    ok!(cuStreamQuery(PER_THREAD));
    Ok(())
}

fn query_says_not_ready(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(stream)?;
    gives!(NOT_READY, cuStreamQuery(stream));
    gives!(NOT_READY, cuStreamQuery(stream));
    Ok(())
}

fn synchronize_waits_for_the_stream(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(stream)?;
    ok!(cuStreamSynchronize(stream));
    ok!(cuStreamQuery(stream));
    Ok(())
}

fn synchronize_waits_for_that_stream_only(scene: &mut Scene) -> Outcome {
    let (busy, idle) = (scene.stream()?, scene.stream()?);
    scene.busy(busy)?;
    scene.launch("nothing", idle, &[])?;
    ok!(cuStreamSynchronize(idle));
    holds!(is_busy(busy)?);
    Ok(())
}

fn launches_do_not_wait(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    let event = scene.event()?;
    for _ in 0..3 {
        scene.busy(stream)?;
    }
    ok!(cuEventRecord(event, stream));
    holds!(is_pending(event)?);
    Ok(())
}

fn destroying_does_not_wait(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(stream)?;
    let event = scene.recorded(stream)?;
    ok!(cuStreamDestroy_v2(stream));
    holds!(is_pending(event)?);
    Ok(())
}

fn work_of_a_destroyed_stream_is_done(scene: &mut Scene) -> Outcome {
    let (stream, pinned) = (scene.stream()?, scene.pinned(4)?);
    scene.slow_store(pinned.address(), 51, stream)?;
    let event = scene.recorded(stream)?;
    ok!(cuStreamDestroy_v2(stream));
    ok!(cuEventSynchronize(event));
    same!(pinned.word(), 51);
    Ok(())
}

fn synchronize_waits_for_destroyed_streams(scene: &mut Scene) -> Outcome {
    let (stream, pinned) = (scene.non_blocking()?, scene.pinned(4)?);
    scene.slow_store(pinned.address(), 52, stream)?;
    ok!(cuStreamDestroy_v2(stream));
    ok!(cuCtxSynchronize());
    same!(pinned.word(), 52);
    Ok(())
}

fn null_cannot_be_destroyed(_: &mut Scene) -> Outcome {
    gives!(INVALID_HANDLE, cuStreamDestroy_v2(0));
    Ok(())
}

fn hundreds_of_streams(scene: &mut Scene) -> Outcome {
    const COUNT: usize = 300;
    let address = scene.device(4)?;
    let mut streams = Vec::new();
    for _ in 0..COUNT {
        streams.push(scene.stream()?);
    }
    for stream in &streams {
        scene.launch("count", *stream, &[&address])?;
    }
    same!(scene.word(address)?, COUNT as u32);
    for stream in streams {
        ok!(cuStreamDestroy_v2(stream));
    }
    Ok(())
}

fn waiting_takes_no_flags(scene: &mut Scene) -> Outcome {
    let (stream, event) = (scene.stream()?, scene.recorded(0)?);
    gives!(INVALID_VALUE, cuStreamWaitEvent(stream, event, 0x100));
    Ok(())
}

fn per_thread_stream_has_work_of_its_own(scene: &mut Scene) -> Outcome {
    let context = scene.context;
    scene.busy(PER_THREAD)?;
    let other = on_thread(|| {
        ok!(cuCtxSetCurrent(context));
        is_busy(PER_THREAD)
    });
    holds!(is_busy(PER_THREAD)?);
    holds!(!other?);
    Ok(())
}
