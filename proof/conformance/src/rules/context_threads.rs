//! One context in several threads, and several contexts in one.

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{Scene, is_busy};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "context_threads";

/// The rules of this family.
pub const RULES: &[Rule] = &[
    rule!(
        each_thread_has_its_own_stack,
        "cuCtxPushCurrent",
        "Pushing a context in one thread does not make it current in another."
    ),
    rule!(
        memory_is_freed_by_another_thread,
        "cuMemFree",
        "A thread frees memory that another allocated in the same context."
    ),
    rule!(
        one_stream_serves_two_threads,
        "CUDA programming guide, streams",
        "Work that one thread enqueued in a stream ends before work that another enqueues in it later."
    ),
    rule!(
        per_thread_handle_means_the_callers_stream,
        "CU_STREAM_PER_THREAD",
        "Waiting for the per-thread stream in one thread does not wait for another thread's."
    ),
    rule!(
        thread_may_end_while_its_stream_works,
        "CU_STREAM_PER_THREAD",
        "Work in a thread's default stream completes even after the thread has ended."
    ),
    rule!(
        another_thread_waits_for_an_event,
        "cuEventSynchronize",
        "A thread waits for an event that another recorded."
    ),
    rule!(
        memory_is_used_through_another_context,
        "cuMemcpyDtoD",
        "Unified addressing: memory of one context is copied while another is current."
    ),
    rule!(
        stream_of_another_context_is_synchronised,
        "cuStreamSynchronize",
        "A stream is waited for while another context is current."
    ),
    rule!(
        destroying_a_context_ends_its_memory,
        "cuCtxDestroy",
        "When a context is destroyed its memory is gone."
    ),
    rule!(
        destroying_a_context_spares_others,
        "cuCtxDestroy",
        "Work of other contexts goes on when a context is destroyed."
    ),
    rule!(
        legacy_streams_of_contexts_are_not_ordered,
        "Stream synchronization behavior, legacy default stream",
        "The legacy stream of one context does not wait for that of another."
    ),
    rule!(
        flags_can_be_changed,
        "cuCtxSetFlags",
        "The way in which threads wait can be changed in a context that exists."
    ),
];

fn another(scene: &Scene) -> Outcome<Handle> {
    out(|context| cu!(cuCtxCreate_v2(context, 0, scene.device)))
}

/// Runs `body` on a thread with the scene's context current.
fn on_thread<T: Send>(context: Handle, body: impl FnOnce() -> Outcome<T> + Send) -> Outcome<T> {
    rule::on_thread(|| {
        ok!(cuCtxSetCurrent(context));
        body()
    })
}

fn each_thread_has_its_own_stack(scene: &mut Scene) -> Outcome {
    let other = another(scene)?;
    let current = on_thread(scene.context, || {
        out(|context| cu!(cuCtxGetCurrent(context)))
    });
    same!(current?, scene.context);
    same!(out(|context| cu!(cuCtxGetCurrent(context)))?, other);
    ok!(cuCtxDestroy_v2(other));
    Ok(())
}

fn memory_is_freed_by_another_thread(scene: &mut Scene) -> Outcome {
    let address = scene.device(64)?;
    on_thread(scene.context, || {
        ok!(cuMemFree_v2(address));
        Ok(())
    })?;
    gives!(INVALID_VALUE, cuMemFree_v2(address));
    Ok(())
}

fn one_stream_serves_two_threads(scene: &mut Scene) -> Outcome {
    let (stream, from, to) = (scene.non_blocking()?, scene.device(4)?, scene.device(4)?);
    scene.slow_store(from, 21, stream)?;
    on_thread(scene.context, || {
        ok!(cuMemcpyDtoDAsync_v2(to, from, 4, stream));
        Ok(())
    })?;
    same!(scene.word(to)?, 21);
    Ok(())
}

fn per_thread_handle_means_the_callers_stream(scene: &mut Scene) -> Outcome {
    scene.busy(PER_THREAD)?;
    on_thread(scene.context, || {
        ok!(cuStreamSynchronize(PER_THREAD));
        Ok(())
    })?;
    holds!(is_busy(PER_THREAD)?);
    Ok(())
}

fn thread_may_end_while_its_stream_works(scene: &mut Scene) -> Outcome {
    let (address, function) = (scene.device(4)?, scene.kernel("slow_store")?);
    let nanoseconds = crate::scene::BUSY.as_nanos() as u64;
    let context = scene.context;
    let launched = &*scene;
    on_thread(context, || {
        same!(
            launched.try_launch(function, PER_THREAD, &[&address, &22_u32, &nanoseconds]),
            SUCCESS
        );
        Ok(())
    })?;
    same!(scene.word(address)?, 22);
    Ok(())
}

fn another_thread_waits_for_an_event(scene: &mut Scene) -> Outcome {
    let (stream, pinned) = (scene.stream()?, scene.pinned(4)?);
    scene.slow_store(pinned.address(), 23, stream)?;
    let event = scene.recorded(stream)?;
    on_thread(scene.context, || {
        ok!(cuEventSynchronize(event));
        Ok(())
    })?;
    same!(pinned.word(), 23);
    Ok(())
}

fn memory_is_used_through_another_context(scene: &mut Scene) -> Outcome {
    let from = scene.device(4)?;
    ok!(cuMemsetD32_v2(from, 24, 1));
    ok!(cuCtxSynchronize());
    let other = another(scene)?;
    let to = scene.device(4)?;
    ok!(cuMemcpyDtoD_v2(to, from, 4));
    let word = scene.word(to);
    ok!(cuCtxDestroy_v2(other));
    same!(word?, 24);
    Ok(())
}

fn stream_of_another_context_is_synchronised(scene: &mut Scene) -> Outcome {
    let (stream, pinned) = (scene.stream()?, scene.pinned(4)?);
    let other = another(scene)?;
    ok!(cuCtxPushCurrent_v2(scene.context));
    scene.slow_store(pinned.address(), 25, stream)?;
    same!(
        out(|context| cu!(cuCtxPopCurrent_v2(context)))?,
        scene.context
    );
    ok!(cuStreamSynchronize(stream));
    let word = pinned.word();
    ok!(cuCtxDestroy_v2(other));
    same!(word, 25);
    Ok(())
}

fn destroying_a_context_ends_its_memory(scene: &mut Scene) -> Outcome {
    let other = another(scene)?;
    let address = scene.device(32 << 20)?;
    ok!(cuCtxDestroy_v2(other));
    gives!(INVALID_VALUE, cuMemFree_v2(address));
    Ok(())
}

fn destroying_a_context_spares_others(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(4)?);
    let other = another(scene)?;
    ok!(cuCtxPushCurrent_v2(scene.context));
    scene.slow_store(address, 26, stream)?;
    ok!(cuCtxDestroy_v2(other));
    same!(scene.word(address)?, 26);
    Ok(())
}

fn legacy_streams_of_contexts_are_not_ordered(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.module()?;
    let other = another(scene)?;
    let address = scene.device(4)?;
    ok!(cuCtxPushCurrent_v2(scene.context));
    scene.busy(0)?;
    same!(
        out(|context| cu!(cuCtxPopCurrent_v2(context)))?,
        scene.context
    );
    // In the other context the legacy stream is another one.
    ok!(cuStreamQuery(0));
    ok!(cuMemsetD32_v2(address, 1, 1));
    ok!(cuCtxDestroy_v2(other));
    ok!(cuStreamSynchronize(stream));
    Ok(())
}

fn flags_can_be_changed(_: &mut Scene) -> Outcome {
    /// `CU_CTX_SCHED_BLOCKING_SYNC`, `CU_CTX_SCHED_MASK`.
    const BLOCKING: u32 = 4;
    const SCHEDULE_MASK: u32 = 7;
    ok!(cuCtxSetFlags(BLOCKING));
    let flags: u32 = out(|flags| cu!(cuCtxGetFlags(flags)))?;
    same!(flags & SCHEDULE_MASK, BLOCKING);
    Ok(())
}
