//! The modes of captures and of threads: which calls they allow meanwhile, and whose.

use std::ptr::null_mut;

use super::capture_limits::{
    CallDuringCapture, Capture, ENDED, GLOBAL, INVALIDATED, RELAXED, THREAD_LOCAL, each_gives, end,
};
use crate::api::*;
use crate::rule::{Outcome, Rule, on_thread};
use crate::scene::Scene;
use crate::{cu, ok, rule, same};

const FAMILY: &str = "capture_modes";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(unsafe_calls_invalidate_a_capture, "cuThreadExchangeStreamCaptureMode",
        "Calls that may depend on other work invalidate captures in global and in thread-local mode."),
    rule!(relaxed_captures_allow_unsafe_calls, "cuThreadExchangeStreamCaptureMode",
        "The same calls succeed while a stream captures in relaxed mode."),
    rule!(other_calls_leave_a_capture_alone, "cuStreamBeginCapture",
        "In global mode other streams take work, legacy included if the capture is in a non-blocking stream."),
    rule!(modes_decide_about_other_threads, "cuThreadExchangeStreamCaptureMode",
        "An unsafe call of another thread is refused if the capture and the thread are in global mode."),
    rule!(relaxed_thread_may_allocate, "cuThreadExchangeStreamCaptureMode",
        "The capturing thread may call cuMemAlloc if it has relaxed its own mode, not if that is thread-local."),
    rule!(other_thread_cannot_end, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
        "A capture not in relaxed mode is ended by the thread that began it; an attempt of another ends it without a graph."),
    rule!(other_thread_ends_in_relaxed_mode, "cuStreamBeginCapture", "A capture in relaxed mode may be ended by another thread."),
];

const UNSAFE: &[CallDuringCapture] = &[
    ("cuMemAlloc", |_| allocate()),
    ("cuMemFree", |_| cu!(cuMemFree_v2(0))),
    ("cuMemAllocHost", |_| {
        let mut memory = null_mut();
        cu!(cuMemAllocHost_v2(&mut memory, 64))
    }),
    ("cuCtxSetLimit", |_| cu!(cuCtxSetLimit(1, 1 << 20))),
    ("cuStreamSynchronize", |at| {
        cu!(cuStreamSynchronize(at.other))
    }),
    ("cuStreamQuery", |at| cu!(cuStreamQuery(at.other))),
    ("cuEventQuery", |at| cu!(cuEventQuery(at.recorded))),
    ("cuEventSynchronize", |at| {
        cu!(cuEventSynchronize(at.recorded))
    }),
    ("cuGraphInstantiate", |_| instantiate_nothing()),
];

/// The code of an allocation of 64 bytes.
fn allocate() -> Code {
    let mut address = 0;
    cu!(cuMemAlloc_v2(&mut address, 64))
}

fn instantiate_nothing() -> Code {
    let (mut graph, mut executable) = (0, 0);
    match cu!(cuGraphCreate(&mut graph, 0)) {
        SUCCESS => cu!(cuGraphInstantiateWithFlags(&mut executable, graph, 0)),
        code => code,
    }
}

/// Runs `body` on another thread with the scene's context.
fn elsewhere<T: Send>(scene: &Scene, body: impl FnOnce() -> Outcome<T> + Send) -> Outcome<T> {
    let context = scene.context;
    on_thread(|| {
        ok!(cuCtxSetCurrent(context));
        body()
    })
}

fn unsafe_calls_invalidate_a_capture(scene: &mut Scene) -> Outcome {
    let modes = &[GLOBAL, THREAD_LOCAL];
    each_gives(
        scene,
        modes,
        NON_BLOCKING,
        UNSAFE,
        STREAM_CAPTURE_UNSUPPORTED,
    )
}

fn relaxed_captures_allow_unsafe_calls(scene: &mut Scene) -> Outcome {
    each_gives(scene, &[RELAXED], NON_BLOCKING, UNSAFE, SUCCESS)
}

fn other_calls_leave_a_capture_alone(scene: &mut Scene) -> Outcome {
    const CALLS: &[CallDuringCapture] = &[
        ("a memset elsewhere", |at| {
            cu!(cuMemsetD8Async(at.data, 1, 16, at.other))
        }),
        ("a memset in legacy", |at| {
            cu!(cuMemsetD8Async(at.data, 1, 16, LEGACY))
        }),
        ("a record in legacy", |at| {
            cu!(cuEventRecord(at.fresh, LEGACY))
        }),
        ("a wait for no record", |at| {
            cu!(cuStreamWaitEvent(at.stream, at.fresh, 0))
        }),
        ("cuEventDestroy", |at| cu!(cuEventDestroy_v2(at.captured))),
        ("cuMemcpyHtoD", |at| {
            cu!(cuMemcpyHtoD_v2(at.data, [7_u8; 64].as_ptr().cast(), 64))
        }),
    ];
    each_gives(scene, &[GLOBAL], NON_BLOCKING, CALLS, SUCCESS)
}

fn modes_decide_about_other_threads(scene: &mut Scene) -> Outcome {
    let refused = (STREAM_CAPTURE_UNSUPPORTED, INVALIDATED);
    for (of_capture, of_thread, expected) in [
        (GLOBAL, GLOBAL, refused),
        (GLOBAL, THREAD_LOCAL, (SUCCESS, ENDED)),
        (GLOBAL, RELAXED, (SUCCESS, ENDED)),
        (THREAD_LOCAL, GLOBAL, (SUCCESS, ENDED)),
        (THREAD_LOCAL, THREAD_LOCAL, (SUCCESS, ENDED)),
        (RELAXED, GLOBAL, (SUCCESS, ENDED)),
    ] {
        let at = Capture::begin(scene, of_capture, NON_BLOCKING)?;
        let code = elsewhere(scene, || {
            let mut mode = of_thread;
            ok!(cuThreadExchangeStreamCaptureMode(&mut mode));
            Ok(allocate())
        });
        let found = (code?, end(at.stream));
        same!(
            (of_capture, of_thread, found),
            (of_capture, of_thread, expected)
        );
    }
    Ok(())
}

fn relaxed_thread_may_allocate(scene: &mut Scene) -> Outcome {
    for (mine, expected) in [
        (RELAXED, (SUCCESS, ENDED)),
        (THREAD_LOCAL, (STREAM_CAPTURE_UNSUPPORTED, INVALIDATED)),
    ] {
        let (stream, mut mode) = (scene.stream()?, mine);
        ok!(cuStreamBeginCapture_v2(stream, GLOBAL));
        ok!(cuThreadExchangeStreamCaptureMode(&mut mode));
        let code = allocate();
        ok!(cuThreadExchangeStreamCaptureMode(&mut mode));
        same!((mine, (code, end(stream))), (mine, expected));
    }
    Ok(())
}

fn other_thread_cannot_end(scene: &mut Scene) -> Outcome {
    for mode in [GLOBAL, THREAD_LOCAL] {
        let stream = scene.stream()?;
        ok!(cuStreamBeginCapture_v2(stream, mode));
        let code = elsewhere(scene, || Ok(end(stream)));
        let expected = ((STREAM_CAPTURE_WRONG_THREAD, false), ILLEGAL_STATE);
        same!((code?, end(stream).0), expected);
    }
    Ok(())
}

fn other_thread_ends_in_relaxed_mode(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    ok!(cuStreamBeginCapture_v2(stream, RELAXED));
    same!(elsewhere(scene, || Ok(end(stream)))?, ENDED);
    Ok(())
}
