//! What stream capture prohibits, and the codes that say so.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::api::*;
use crate::rule::{Outcome, Rule, on_thread, out};
use crate::scene::Scene;
use crate::{cu, gives, ok, rule, same};

const FAMILY: &str = "capture_limits";

/// The rules of this family.
pub const RULES: &[Rule] = &[
    rule!(
        legacy_stream_cannot_capture,
        "cuStreamBeginCapture",
        "The legacy stream cannot be captured."
    ),
    rule!(
        capture_begins_once,
        "cuStreamBeginCapture",
        "Beginning a capture in a capturing stream is refused."
    ),
    rule!(
        capture_ends_once,
        "cuStreamEndCapture",
        "Ending a capture in a stream that does not capture is refused."
    ),
    rule!(
        unknown_mode_is_refused,
        "cuStreamBeginCapture",
        "A mode that does not exist is refused."
    ),
    rule!(
        synchronising_is_prohibited,
        "CUDA programming guide, prohibited and unhandled operations",
        "Synchronising with a capturing stream is refused, and invalidates the capture."
    ),
    rule!(
        querying_is_prohibited,
        "CUDA programming guide, prohibited and unhandled operations",
        "Querying a capturing stream is refused, and invalidates the capture."
    ),
    rule!(
        invalidated_capture_gives_no_graph,
        "CUDA programming guide, invalidation",
        "Ending an invalidated capture returns an error, gives no graph, and ends the stream's capture."
    ),
    rule!(
        invalidated_capture_takes_no_work,
        "CUDA programming guide, invalidation",
        "Work given to a stream whose capture is invalidated is refused."
    ),
    rule!(
        context_cannot_be_synchronised,
        "CUDA programming guide, prohibited and unhandled operations",
        "Synchronising the context is refused while one of its streams captures."
    ),
    rule!(
        captured_event_cannot_be_queried,
        "CUDA_ERROR_CAPTURED_EVENT",
        "An event recorded in a capturing stream cannot be queried."
    ),
    rule!(
        captured_event_cannot_be_waited_for,
        "CUDA_ERROR_CAPTURED_EVENT",
        "The host cannot wait for an event recorded in a capturing stream."
    ),
    rule!(
        unjoined_stream_spoils_the_capture,
        "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
        "A capture cannot end while a forked stream has not been joined."
    ),
    rule!(
        capture_ends_where_it_began,
        "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
        "A capture cannot be ended in a stream that was forked from it."
    ),
    rule!(
        captures_cannot_merge,
        "CUDA_ERROR_STREAM_CAPTURE_MERGE",
        "A capturing stream cannot wait for an event of another capture."
    ),
    rule!(
        capture_is_isolated,
        "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
        "A capturing stream cannot wait for an event recorded before, outside of the capture."
    ),
    rule!(
        legacy_stream_must_not_interfere,
        "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
        "Work in the legacy stream is refused while a blocking stream captures."
    ),
    rule!(
        allocation_is_unsafe_in_global_mode,
        "cuThreadExchangeStreamCaptureMode",
        "cuMemAlloc is refused while a stream captures in global mode."
    ),
    rule!(
        allocation_is_unsafe_in_thread_local_mode,
        "cuThreadExchangeStreamCaptureMode",
        "cuMemAlloc is refused in the thread that captures in thread-local mode."
    ),
    rule!(
        thread_local_mode_spares_other_threads,
        "cuThreadExchangeStreamCaptureMode",
        "While a stream captures in thread-local mode, another thread in that mode may call cuMemAlloc."
    ),
    rule!(
        relaxed_mode_allows_allocation,
        "cuThreadExchangeStreamCaptureMode",
        "cuMemAlloc works while a stream captures in relaxed mode."
    ),
    rule!(
        relaxed_thread_may_allocate,
        "cuThreadExchangeStreamCaptureMode",
        "A thread that relaxes its own mode may call cuMemAlloc during a capture in global mode."
    ),
    rule!(
        other_thread_cannot_end,
        "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
        "A capture not in relaxed mode is ended by the thread that began it."
    ),
    rule!(
        other_thread_ends_in_relaxed_mode,
        "cuStreamBeginCapture",
        "A capture in relaxed mode may be ended by another thread."
    ),
    rule!(
        callbacks_cannot_be_captured,
        "cuStreamAddCallback",
        "Stream callbacks cannot be captured."
    ),
];

/// `CU_STREAM_CAPTURE_MODE_*`.
const GLOBAL: u32 = 0;
const THREAD_LOCAL: u32 = 1;
const RELAXED: u32 = 2;

fn begin(stream: Handle) -> Outcome {
    ok!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    Ok(())
}

/// The code of an end, and whether it gave a graph.
fn end(stream: Handle) -> (Code, bool) {
    let mut graph = 0;
    let code = cu!(cuStreamEndCapture(stream, &mut graph));
    if graph != 0 {
        // Nothing depends on it.
        let _ = cu!(cuGraphDestroy(graph));
    }
    (code, graph != 0)
}

const INVALIDATED: (Code, bool) = (STREAM_CAPTURE_INVALIDATED, false);

/// Runs `body` on another thread with the scene's context.
fn elsewhere<T: Send>(scene: &Scene, body: impl FnOnce() -> Outcome<T> + Send) -> Outcome<T> {
    let context = scene.context;
    on_thread(|| {
        ok!(cuCtxSetCurrent(context));
        body()
    })
}

fn legacy_stream_cannot_capture(_: &mut Scene) -> Outcome {
    gives!(
        STREAM_CAPTURE_UNSUPPORTED,
        cuStreamBeginCapture_v2(0, THREAD_LOCAL)
    );
    Ok(())
}

fn capture_begins_once(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    begin(stream)?;
    let again = cu!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    end(stream);
    same!(again, ILLEGAL_STATE);
    Ok(())
}

fn capture_ends_once(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    same!(end(stream).0, ILLEGAL_STATE);
    Ok(())
}

fn unknown_mode_is_refused(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    gives!(INVALID_VALUE, cuStreamBeginCapture_v2(stream, 7));
    Ok(())
}

fn synchronising_is_prohibited(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    begin(stream)?;
    let code = cu!(cuStreamSynchronize(stream));
    same!(
        (code, end(stream)),
        (STREAM_CAPTURE_UNSUPPORTED, INVALIDATED)
    );
    Ok(())
}

fn querying_is_prohibited(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    begin(stream)?;
    let code = cu!(cuStreamQuery(stream));
    same!(
        (code, end(stream)),
        (STREAM_CAPTURE_UNSUPPORTED, INVALIDATED)
    );
    Ok(())
}

fn invalidated_capture_gives_no_graph(scene: &mut Scene) -> Outcome {
    /// `CU_STREAM_CAPTURE_STATUS_INVALIDATED` and `_NONE`.
    const STATUS: (u32, u32) = (2, 0);
    let stream = scene.stream()?;
    let status = || out(|status| cu!(cuStreamIsCapturing(stream, status)));
    begin(stream)?;
    // Refused: another rule says so.
    let _ = cu!(cuStreamSynchronize(stream));
    let before: u32 = status()?;
    same!(end(stream), INVALIDATED);
    same!((before, status()?), STATUS);
    ok!(cuStreamSynchronize(stream));
    Ok(())
}

fn invalidated_capture_takes_no_work(scene: &mut Scene) -> Outcome {
    let (stream, function) = (scene.stream()?, scene.kernel("nothing")?);
    begin(stream)?;
    // Refused: another rule says so.
    let _ = cu!(cuStreamSynchronize(stream));
    let code = scene.try_launch(function, stream, &[]);
    end(stream);
    same!(code, STREAM_CAPTURE_INVALIDATED);
    Ok(())
}

fn context_cannot_be_synchronised(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    begin(stream)?;
    let code = cu!(cuCtxSynchronize());
    end(stream);
    same!(code, STREAM_CAPTURE_UNSUPPORTED);
    Ok(())
}

fn captured_event_cannot_be_queried(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    begin(stream)?;
    let event = scene.recorded(stream)?;
    let code = cu!(cuEventQuery(event));
    end(stream);
    same!(code, CAPTURED_EVENT);
    Ok(())
}

fn captured_event_cannot_be_waited_for(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    begin(stream)?;
    let event = scene.recorded(stream)?;
    let code = cu!(cuEventSynchronize(event));
    end(stream);
    same!(code, CAPTURED_EVENT);
    Ok(())
}

/// A capturing stream and one that was forked from it and has work of its own.
fn forked(scene: &mut Scene) -> Outcome<(Handle, Handle)> {
    let (first, second) = (scene.stream()?, scene.stream()?);
    scene.module()?;
    begin(first)?;
    let fork = scene.recorded(first)?;
    ok!(cuStreamWaitEvent(second, fork, 0));
    scene.launch("nothing", second, &[])?;
    Ok((first, second))
}

fn unjoined_stream_spoils_the_capture(scene: &mut Scene) -> Outcome {
    let (first, _) = forked(scene)?;
    same!(end(first), (STREAM_CAPTURE_UNJOINED, false));
    Ok(())
}

fn capture_ends_where_it_began(scene: &mut Scene) -> Outcome {
    let (first, second) = forked(scene)?;
    let code = end(second).0;
    end(first);
    same!(code, STREAM_CAPTURE_UNMATCHED);
    Ok(())
}

fn captures_cannot_merge(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.stream()?);
    begin(first)?;
    begin(second)?;
    let event = scene.recorded(first)?;
    let code = cu!(cuStreamWaitEvent(second, event, 0));
    end(first);
    end(second);
    same!(code, STREAM_CAPTURE_MERGE);
    Ok(())
}

fn capture_is_isolated(scene: &mut Scene) -> Outcome {
    let (outside, stream) = (scene.stream()?, scene.stream()?);
    scene.busy(outside)?;
    let event = scene.recorded(outside)?;
    begin(stream)?;
    let code = cu!(cuStreamWaitEvent(stream, event, 0));
    end(stream);
    same!(code, STREAM_CAPTURE_ISOLATION);
    Ok(())
}

fn legacy_stream_must_not_interfere(scene: &mut Scene) -> Outcome {
    let (stream, function) = (scene.stream()?, scene.kernel("nothing")?);
    begin(stream)?;
    let code = scene.try_launch(function, 0, &[]);
    end(stream);
    same!(code, STREAM_CAPTURE_IMPLICIT);
    Ok(())
}

/// The code of an allocation of 64 bytes.
fn allocate() -> Code {
    let mut address = 0;
    cu!(cuMemAlloc_v2(&mut address, 64))
}

fn allocation_is_unsafe_in_global_mode(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    ok!(cuStreamBeginCapture_v2(stream, GLOBAL));
    let code = allocate();
    same!(
        (code, end(stream)),
        (STREAM_CAPTURE_UNSUPPORTED, INVALIDATED)
    );
    Ok(())
}

fn allocation_is_unsafe_in_thread_local_mode(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    ok!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    let code = allocate();
    same!(
        (code, end(stream)),
        (STREAM_CAPTURE_UNSUPPORTED, INVALIDATED)
    );
    Ok(())
}

fn thread_local_mode_spares_other_threads(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    ok!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    let code = elsewhere(scene, || {
        let mut mode = THREAD_LOCAL;
        ok!(cuThreadExchangeStreamCaptureMode(&mut mode));
        Ok(allocate())
    });
    same!((code?, end(stream)), (SUCCESS, (SUCCESS, true)));
    Ok(())
}

fn relaxed_mode_allows_allocation(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    ok!(cuStreamBeginCapture_v2(stream, RELAXED));
    let code = allocate();
    same!((code, end(stream)), (SUCCESS, (SUCCESS, true)));
    Ok(())
}

fn relaxed_thread_may_allocate(scene: &mut Scene) -> Outcome {
    let (stream, mut mode) = (scene.stream()?, RELAXED);
    ok!(cuStreamBeginCapture_v2(stream, GLOBAL));
    ok!(cuThreadExchangeStreamCaptureMode(&mut mode));
    let code = allocate();
    ok!(cuThreadExchangeStreamCaptureMode(&mut mode));
    same!((code, end(stream)), (SUCCESS, (SUCCESS, true)));
    Ok(())
}

fn other_thread_cannot_end(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    begin(stream)?;
    let code = elsewhere(scene, || Ok(end(stream).0));
    end(stream);
    same!(code?, STREAM_CAPTURE_WRONG_THREAD);
    Ok(())
}

fn other_thread_ends_in_relaxed_mode(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    ok!(cuStreamBeginCapture_v2(stream, RELAXED));
    same!(elsewhere(scene, || Ok(end(stream)))?, (SUCCESS, true));
    Ok(())
}

unsafe extern "C" fn nothing(_: Handle, _: Code, _: *mut c_void) {}

fn callbacks_cannot_be_captured(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    begin(stream)?;
    let code = cu!(cuStreamAddCallback(stream, Some(nothing), null_mut(), 0));
    end(stream);
    same!(code, STREAM_CAPTURE_UNSUPPORTED);
    Ok(())
}
