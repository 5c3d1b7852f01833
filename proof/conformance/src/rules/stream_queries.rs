//! What a query of a default stream sees, and what waiting for one stream leaves running.

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{Scene, is_busy, is_pending};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "stream_queries";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(legacy_ignores_non_blocking, "cuStreamQuery", "The legacy stream is complete while a non-blocking stream works."),
    rule!(legacy_handle_sees_the_same, "CU_STREAM_LEGACY",
        "Queried by its own handle the legacy stream is not ready while it works."),
    rule!(per_thread_ignores_blocking, "cuStreamQuery",
        "The per-thread default stream is complete while a blocking stream works."),
    rule!(idle_blocking_stream_is_complete, "cuStreamQuery",
        "A blocking stream without work of its own is complete while the legacy stream works."),
    rule!(idle_stream_is_complete, "cuStreamQuery", "A stream without work is complete while another works."),
    rule!(behind_a_wait_is_not_ready, "cuStreamQuery", "A stream that waits for an event of a busy stream is not ready."),
    rule!(wait_in_legacy_holds_blocking_streams, "Stream synchronization behavior, legacy default stream",
        "When the legacy stream waits for an event, later work in blocking streams waits too."),
    rule!(per_thread_synchronize_leaves_others, "cuStreamSynchronize",
        "Synchronising with the per-thread default stream does not wait for other streams."),
    rule!(event_synchronize_leaves_later_work, "cuEventSynchronize",
        "Waiting for an event leaves work behind its record running."),
    rule!(query_does_not_wait, "cuStreamQuery", "A hundred queries of a busy stream end before its work does."),
    rule!(unknown_flags_of_a_wait_are_refused, "cuStreamWaitEvent",
        "Flags that do not exist are refused, and the stream does not wait."),
    rule!(stream_names_its_device, "cuStreamGetDevice", "A stream names the device that it works on."),
];

fn legacy_ignores_non_blocking(scene: &mut Scene) -> Outcome {
    let stream = scene.non_blocking()?;
    scene.busy(stream)?;
    holds!(!is_busy(0)?);
    holds!(is_busy(stream)?);
    Ok(())
}

fn legacy_handle_sees_the_same(scene: &mut Scene) -> Outcome {
    scene.busy(0)?;
    holds!(is_busy(LEGACY)?);
    ok!(cuStreamSynchronize(LEGACY));
    holds!(!is_busy(0)?);
    Ok(())
}

fn per_thread_ignores_blocking(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(stream)?;
    holds!(!is_busy(PER_THREAD)?);
    holds!(is_busy(stream)?);
    Ok(())
}

fn idle_blocking_stream_is_complete(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(0)?;
    holds!(!is_busy(stream)?);
    holds!(is_busy(0)?);
    Ok(())
}

fn idle_stream_is_complete(scene: &mut Scene) -> Outcome {
    let (busy, idle) = (scene.stream()?, scene.stream()?);
    scene.busy(busy)?;
    holds!(!is_busy(idle)?);
    holds!(is_busy(busy)?);
    Ok(())
}

fn behind_a_wait_is_not_ready(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.non_blocking()?, scene.non_blocking()?);
    scene.busy(first)?;
    let event = scene.recorded(first)?;
    ok!(cuStreamWaitEvent(second, event, 0));
    holds!(is_busy(second)?);
    ok!(cuStreamSynchronize(second));
    holds!(!is_pending(event)?);
    Ok(())
}

fn wait_in_legacy_holds_blocking_streams(scene: &mut Scene) -> Outcome {
    let (foreign, blocking) = (scene.non_blocking()?, scene.stream()?);
    let (from, to) = (scene.device(4)?, scene.device(4)?);
    scene.slow_store(from, 62, foreign)?;
    let event = scene.recorded(foreign)?;
    ok!(cuStreamWaitEvent(0, event, 0));
    scene.launch("nothing", 0, &[])?;
    scene.move_word(to, from, blocking)?;
    same!(scene.word(to)?, 62);
    Ok(())
}

fn per_thread_synchronize_leaves_others(scene: &mut Scene) -> Outcome {
    let stream = scene.non_blocking()?;
    scene.launch("nothing", PER_THREAD, &[])?;
    scene.busy(stream)?;
    ok!(cuStreamSynchronize(PER_THREAD));
    holds!(is_busy(stream)?);
    Ok(())
}

fn event_synchronize_leaves_later_work(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.launch("nothing", stream, &[])?;
    let event = scene.recorded(stream)?;
    scene.busy(stream)?;
    ok!(cuEventSynchronize(event));
    holds!(is_busy(stream)?);
    Ok(())
}

fn query_does_not_wait(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(stream)?;
    for _ in 0..100 {
        holds!(is_busy(stream)?);
    }
    Ok(())
}

fn unknown_flags_of_a_wait_are_refused(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.non_blocking()?, scene.non_blocking()?);
    scene.busy(first)?;
    let event = scene.recorded(first)?;
    gives!(INVALID_VALUE, cuStreamWaitEvent(second, event, 0x80));
    holds!(!is_busy(second)?);
    Ok(())
}

fn stream_names_its_device(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    same!(
        out(|device| cu!(cuStreamGetDevice(stream, device)))?,
        scene.device
    );
    Ok(())
}
