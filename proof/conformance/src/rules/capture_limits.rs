//! What stream capture prohibits, and the codes that say so.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::Scene;
use crate::{cu, gives, ok, rule, same};

const FAMILY: &str = "capture_limits";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(legacy_stream_cannot_capture, "cuStreamBeginCapture", "The legacy stream cannot be captured."),
    rule!(per_thread_stream_captures, "cuStreamBeginCapture", "The per-thread default stream can be captured."),
    rule!(capture_begins_once, "cuStreamBeginCapture",
        "Beginning a capture in a capturing stream is refused, and the capture goes on."),
    rule!(capture_ends_once, "cuStreamEndCapture", "Ending a capture in a stream that does not capture is refused."),
    rule!(unknown_mode_is_refused, "cuStreamBeginCapture", "A mode that does not exist is refused."),
    rule!(waiting_for_captured_work_is_prohibited, "CUDA programming guide, prohibited and unhandled operations",
        "In every mode, synchronising or querying a capturing stream, or its context, invalidates the capture."),
    rule!(captured_events_cannot_be_waited_for, "CUDA_ERROR_CAPTURED_EVENT",
        "In every mode, synchronising or querying an event recorded in a capturing stream invalidates the capture."),
    rule!(captured_events_have_no_time, "CUDA_ERROR_CAPTURED_EVENT",
        "Asking for the time of a captured event is refused, and the capture goes on."),
    rule!(events_of_an_ended_capture_stand_for_nothing, "cuStreamEndCapture",
        "After the capture its events are neither queried nor waited for until they are recorded again (seen on an H200)."),
    rule!(invalidated_capture_gives_no_graph, "CUDA programming guide, invalidation",
        "Ending an invalidated capture returns an error, gives no graph, and ends the stream's capture."),
    rule!(invalidated_capture_takes_no_work, "CUDA programming guide, invalidation",
        "Work given to a stream whose capture is invalidated is refused."),
    rule!(every_forked_stream_is_joined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
        "A capture cannot end while work of a forked stream, destroyed or not, has not been joined."),
    rule!(fork_without_work_needs_no_join, "cuStreamEndCapture",
        "A stream that joined the capture and got no work need not be joined."),
    rule!(capture_ends_where_it_began, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
        "A capture cannot be ended in a stream that was forked from it; trying invalidates it."),
    rule!(captures_cannot_merge, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
        "A capturing stream cannot wait for an event of another capture; trying invalidates both."),
    rule!(capture_is_isolated, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
        "A capturing stream cannot wait for an event recorded outside of the capture, complete or not."),
    rule!(legacy_stream_must_not_interfere, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
        "While a blocking stream captures, using the legacy stream is refused and invalidates the capture."),
    rule!(legacy_stream_cannot_join, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
        "The legacy stream cannot wait for a captured event, of a non-blocking stream either."),
    rule!(status_of_the_legacy_stream_is_implicit, "cuStreamIsCapturing",
        "While a blocking stream captures, the legacy stream's status is refused, and the capture goes on."),
    rule!(callbacks_cannot_be_captured, "cuStreamAddCallback",
        "Stream callbacks cannot be captured; trying invalidates the capture."),
];

/// `CU_STREAM_CAPTURE_MODE_*`.
pub(super) const GLOBAL: u32 = 0;
pub(super) const THREAD_LOCAL: u32 = 1;
pub(super) const RELAXED: u32 = 2;
/// `CU_STREAM_CAPTURE_STATUS_*`.
const NONE: u32 = 0;

fn begin(stream: Handle) -> Outcome {
    ok!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    Ok(())
}

/// The code of an end, and whether it gave a graph.
pub(super) fn end(stream: Handle) -> (Code, bool) {
    let mut graph = 0;
    let code = cu!(cuStreamEndCapture(stream, &mut graph));
    if graph != 0 {
        // Nothing depends on it.
        let _ = cu!(cuGraphDestroy(graph));
    }
    (code, graph != 0)
}

pub(super) const ENDED: (Code, bool) = (SUCCESS, true);
pub(super) const INVALIDATED: (Code, bool) = (STREAM_CAPTURE_INVALIDATED, false);

/// A stream that captures a memset and the record of an event, beside an idle non-blocking stream.
pub(super) struct Capture {
    pub(super) stream: Handle,
    pub(super) other: Handle,
    pub(super) data: Address,
    /// Recorded in the capture.
    pub(super) captured: Handle,
    /// Recorded in `other` before, and complete.
    pub(super) recorded: Handle,
    /// Never recorded.
    pub(super) fresh: Handle,
}

impl Capture {
    /// Begins it in a stream with these flags.
    pub(super) fn begin(scene: &Scene, mode: u32, flags: u32) -> Outcome<Self> {
        let (stream, other) = (scene.stream_with(flags)?, scene.non_blocking()?);
        let (data, captured, fresh) = (scene.device(64)?, scene.event()?, scene.event()?);
        let recorded = scene.recorded(other)?;
        ok!(cuCtxSynchronize());
        ok!(cuStreamBeginCapture_v2(stream, mode));
        ok!(cuMemsetD8Async(data, 1, 16, stream));
        ok!(cuEventRecord(captured, stream));
        Ok(Self {
            stream,
            other,
            data,
            captured,
            recorded,
            fresh,
        })
    }
}

/// A call in the middle of a capture, and its name.
pub(super) type CallDuringCapture = (&'static str, fn(&Capture) -> Code);

/// Makes each call in a capture of its own, which continues if the call has to succeed, and else is invalidated.
pub(super) fn each_gives(
    scene: &Scene,
    modes: &[u32],
    flags: u32,
    calls: &[CallDuringCapture],
    code: Code,
) -> Outcome {
    let ends = if code == SUCCESS { ENDED } else { INVALIDATED };
    for &mode in modes {
        for &(name, call) in calls {
            let capture = Capture::begin(scene, mode, flags)?;
            let found = call(&capture);
            same!(
                (name, mode, found, end(capture.stream)),
                (name, mode, code, ends)
            );
        }
    }
    Ok(())
}

const EVERY_MODE: &[u32] = &[GLOBAL, THREAD_LOCAL, RELAXED];

fn legacy_stream_cannot_capture(_: &mut Scene) -> Outcome {
    gives!(
        STREAM_CAPTURE_UNSUPPORTED,
        cuStreamBeginCapture_v2(0, THREAD_LOCAL)
    );
    Ok(())
}

fn per_thread_stream_captures(_: &mut Scene) -> Outcome {
    begin(PER_THREAD)?;
    same!(end(PER_THREAD), ENDED);
    Ok(())
}

fn capture_begins_once(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    begin(stream)?;
    let again = cu!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    same!((again, end(stream)), (ILLEGAL_STATE, ENDED));
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

fn waiting_for_captured_work_is_prohibited(scene: &mut Scene) -> Outcome {
    const CALLS: &[CallDuringCapture] = &[
        ("cuStreamSynchronize", |at| {
            cu!(cuStreamSynchronize(at.stream))
        }),
        ("cuStreamQuery", |at| cu!(cuStreamQuery(at.stream))),
        ("cuCtxSynchronize", |_| cu!(cuCtxSynchronize())),
    ];
    each_gives(
        scene,
        EVERY_MODE,
        NON_BLOCKING,
        CALLS,
        STREAM_CAPTURE_UNSUPPORTED,
    )
}

fn captured_events_cannot_be_waited_for(scene: &mut Scene) -> Outcome {
    const CALLS: &[CallDuringCapture] = &[
        ("cuEventQuery", |at| cu!(cuEventQuery(at.captured))),
        ("cuEventSynchronize", |at| {
            cu!(cuEventSynchronize(at.captured))
        }),
    ];
    each_gives(scene, EVERY_MODE, NON_BLOCKING, CALLS, CAPTURED_EVENT)
}

fn captured_events_have_no_time(scene: &mut Scene) -> Outcome {
    let (at, mut time) = (Capture::begin(scene, GLOBAL, NON_BLOCKING)?, 0.0);
    let code = cu!(cuEventElapsedTime(&mut time, at.captured, at.captured));
    same!((code, end(at.stream)), (CAPTURED_EVENT, ENDED));
    Ok(())
}

fn events_of_an_ended_capture_stand_for_nothing(scene: &mut Scene) -> Outcome {
    let at = Capture::begin(scene, GLOBAL, NON_BLOCKING)?;
    end(at.stream);
    gives!(INVALID_VALUE, cuEventQuery(at.captured));
    gives!(INVALID_VALUE, cuStreamWaitEvent(at.other, at.captured, 0));
    begin(at.stream)?;
    let code = cu!(cuStreamWaitEvent(at.stream, at.captured, 0));
    same!((code, end(at.stream)), (INVALID_VALUE, INVALIDATED));
    ok!(cuEventRecord(at.captured, at.other));
    ok!(cuEventSynchronize(at.captured));
    Ok(())
}

fn invalidated_capture_gives_no_graph(scene: &mut Scene) -> Outcome {
    /// `CU_STREAM_CAPTURE_STATUS_INVALIDATED`.
    const SPOILED: u32 = 2;
    let stream = scene.stream()?;
    let status = || out(|status| cu!(cuStreamIsCapturing(stream, status)));
    begin(stream)?;
    // Refused: another rule says so.
    let _ = cu!(cuStreamSynchronize(stream));
    let before: u32 = status()?;
    same!(end(stream), INVALIDATED);
    same!((before, status()?), (SPOILED, NONE));
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

/// A stream whose capture `other` has joined.
fn forked(scene: &Scene) -> Outcome<Capture> {
    let at = Capture::begin(scene, GLOBAL, NON_BLOCKING)?;
    ok!(cuStreamWaitEvent(at.other, at.captured, 0));
    Ok(at)
}

/// As [`forked`], and with work in `other`.
fn forked_work(scene: &Scene) -> Outcome<Capture> {
    let at = forked(scene)?;
    ok!(cuMemsetD8Async(at.data, 2, 16, at.other));
    Ok(at)
}

fn every_forked_stream_is_joined(scene: &mut Scene) -> Outcome {
    let unjoined = (STREAM_CAPTURE_UNJOINED, false);
    let at = forked_work(scene)?;
    same!(end(at.stream), unjoined);
    ok!(cuStreamQuery(at.other));
    // Work behind the join.
    let at = forked_work(scene)?;
    ok!(cuEventRecord(at.fresh, at.other));
    ok!(cuMemsetD8Async(at.data, 3, 16, at.other));
    ok!(cuStreamWaitEvent(at.stream, at.fresh, 0));
    same!(end(at.stream), unjoined);
    let at = forked_work(scene)?;
    ok!(cuStreamDestroy_v2(at.other));
    same!(end(at.stream), unjoined);
    Ok(())
}

fn fork_without_work_needs_no_join(scene: &mut Scene) -> Outcome {
    same!(end(forked(scene)?.stream), ENDED);
    Ok(())
}

fn capture_ends_where_it_began(scene: &mut Scene) -> Outcome {
    let at = forked_work(scene)?;
    same!(end(at.other).0, STREAM_CAPTURE_UNMATCHED);
    same!(end(at.stream), INVALIDATED);
    same!(
        out(|status| cu!(cuStreamIsCapturing(at.other, status)))?,
        NONE
    );
    same!(end(at.stream).0, ILLEGAL_STATE);
    Ok(())
}

fn captures_cannot_merge(scene: &mut Scene) -> Outcome {
    let at = Capture::begin(scene, GLOBAL, NON_BLOCKING)?;
    begin(at.other)?;
    let code = cu!(cuStreamWaitEvent(at.other, at.captured, 0));
    same!(
        (code, end(at.other), end(at.stream)),
        (STREAM_CAPTURE_MERGE, INVALIDATED, INVALIDATED)
    );
    Ok(())
}

fn capture_is_isolated(scene: &mut Scene) -> Outcome {
    for over in [false, true] {
        let (outside, stream) = (scene.stream()?, scene.stream()?);
        scene.busy(outside)?;
        let event = scene.recorded(outside)?;
        if over {
            ok!(cuCtxSynchronize());
        }
        begin(stream)?;
        let code = cu!(cuStreamWaitEvent(stream, event, 0));
        let expected = (STREAM_CAPTURE_ISOLATION, INVALIDATED);
        same!((over, (code, end(stream))), (over, expected));
    }
    Ok(())
}

fn legacy_stream_must_not_interfere(scene: &mut Scene) -> Outcome {
    const CALLS: &[CallDuringCapture] = &[
        ("cuMemsetD8Async", |at| {
            cu!(cuMemsetD8Async(at.data, 1, 16, LEGACY))
        }),
        ("cuEventRecord", |at| cu!(cuEventRecord(at.fresh, 0))),
        ("cuStreamWaitEvent", |at| {
            cu!(cuStreamWaitEvent(0, at.recorded, 0))
        }),
        ("cuStreamQuery", |_| cu!(cuStreamQuery(0))),
        ("cuStreamSynchronize", |_| cu!(cuStreamSynchronize(0))),
        ("cuMemsetD8", |at| cu!(cuMemsetD8_v2(at.data, 0, 64))),
    ];
    each_gives(scene, &[GLOBAL, RELAXED], 0, CALLS, STREAM_CAPTURE_IMPLICIT)
}

fn legacy_stream_cannot_join(scene: &mut Scene) -> Outcome {
    const CALLS: &[CallDuringCapture] = &[("cuStreamWaitEvent", |at| {
        cu!(cuStreamWaitEvent(0, at.captured, 0))
    })];
    each_gives(
        scene,
        &[GLOBAL],
        NON_BLOCKING,
        CALLS,
        STREAM_CAPTURE_IMPLICIT,
    )
}

fn status_of_the_legacy_stream_is_implicit(scene: &mut Scene) -> Outcome {
    let (at, mut status) = (Capture::begin(scene, RELAXED, 0)?, 9);
    let code = cu!(cuStreamIsCapturing(0, &mut status));
    same!((code, end(at.stream)), (STREAM_CAPTURE_IMPLICIT, ENDED));
    same!(out(|status| cu!(cuStreamIsCapturing(0, status)))?, NONE);
    Ok(())
}

unsafe extern "C" fn nothing(_: Handle, _: Code, _: *mut c_void) {}

fn callbacks_cannot_be_captured(scene: &mut Scene) -> Outcome {
    const CALLS: &[CallDuringCapture] = &[("cuStreamAddCallback", |at| {
        cu!(cuStreamAddCallback(at.stream, Some(nothing), null_mut(), 0))
    })];
    each_gives(
        scene,
        &[GLOBAL],
        NON_BLOCKING,
        CALLS,
        STREAM_CAPTURE_UNSUPPORTED,
    )
}
