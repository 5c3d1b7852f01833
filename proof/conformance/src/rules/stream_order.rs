//! What orders work: the stream itself, the default streams' implicit rules, and nothing else.

use crate::api::*;
use crate::rule::{Outcome, Rule};
use crate::scene::{Scene, is_busy, is_pending};
use crate::{holds, ok, rule, same};

const FAMILY: &str = "stream_order";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(one_stream_is_in_order, "CUDA programming guide, streams", "Operations of one stream are done one after the other."),
    rule!(thousands_of_launches_are_in_order, "CUDA programming guide, streams", "That holds for thousands of launches."),
    rule!(blocking_streams_do_not_wait_for_each_other, "CUDA programming guide, streams",
        "Two blocking streams are not ordered."),
    rule!(legacy_waits_for_blocking, "Stream synchronization behavior, legacy default stream",
        "Work in the legacy stream waits for earlier work in blocking streams."),
    rule!(blocking_waits_for_legacy, "Stream synchronization behavior, legacy default stream",
        "Work in a blocking stream waits for earlier work in the legacy stream."),
    rule!(legacy_orders_two_blocking_streams, "Stream synchronization behavior, legacy default stream",
        "Work in the legacy stream between the work of two blocking streams orders these."),
    rule!(waits_in_legacy_for_complete_events_order_blocking_streams, "Stream synchronization behavior, legacy default stream",
        "A wait in the legacy stream orders blocking streams, even if its event is complete."),
    rule!(legacy_does_not_wait_for_non_blocking, "CU_STREAM_NON_BLOCKING",
        "Work in the legacy stream does not wait for non-blocking streams."),
    rule!(non_blocking_does_not_wait_for_legacy, "CU_STREAM_NON_BLOCKING",
        "Work in a non-blocking stream does not wait for the legacy stream."),
    rule!(non_blocking_does_not_wait_for_blocking, "CUDA programming guide, streams",
        "A non-blocking and a blocking stream are not ordered."),
    rule!(legacy_handle_behaves_as_null, "CU_STREAM_LEGACY",
        "The handle CU_STREAM_LEGACY waits for blocking streams as null does."),
    rule!(legacy_waits_for_per_thread, "Stream synchronization behavior, per-thread default stream",
        "Work in the legacy stream waits for the per-thread default stream."),
    rule!(per_thread_waits_for_legacy, "Stream synchronization behavior, per-thread default stream",
        "Work in the per-thread default stream waits for the legacy stream."),
    rule!(per_thread_does_not_wait_for_blocking, "Stream synchronization behavior, per-thread default stream",
        "The per-thread default stream does not wait for other blocking streams."),
    rule!(legacy_event_stands_for_blocking_streams, "Stream synchronization behavior, legacy default stream",
        "An event recorded in the legacy stream is reached after earlier work in blocking streams."),
    rule!(legacy_synchronize_waits_for_blocking, "Stream synchronization behavior, legacy default stream",
        "Synchronising with the legacy stream waits for blocking streams."),
    rule!(legacy_query_sees_blocking, "Stream synchronization behavior, legacy default stream",
        "The legacy stream is not ready while a blocking stream has work."),
    rule!(legacy_synchronize_ignores_non_blocking, "CU_STREAM_NON_BLOCKING",
        "Synchronising with the legacy stream does not wait for non-blocking streams."),
    rule!(legacy_waits_for_destroyed_blocking, "cuStreamDestroy",
        "Work in the legacy stream waits for the remaining work of a destroyed blocking stream."),
    rule!(event_orders_two_streams, "cuStreamWaitEvent",
        "Work behind a wait for an event starts after the work before the event's record."),
    rule!(event_chain_orders_three_streams, "cuStreamWaitEvent",
        "Waiting is transitive: a stream that waits for a stream that waits."),
    rule!(event_does_not_order_later_work, "cuEventRecord", "An event does not stand for work that came behind its record."),
];

/// A slow store in `first`, then a move of the stored word in `second`: what is moved shows whether `second` waited.
fn second_waits(scene: &mut Scene, first: Handle, second: Handle) -> Outcome<bool> {
    let (from, to) = (scene.device(4)?, scene.device(4)?);
    scene.slow_store(from, 61, first)?;
    scene.move_word(to, from, second)?;
    Ok(scene.word(to)? == 61)
}

/// Keeps `first` busy, gives `second` work, waits for that, and asks whether `first` is still busy.
fn second_overtakes(scene: &mut Scene, first: Handle, second: Handle) -> Outcome<bool> {
    scene.busy(first)?;
    let before = scene.recorded(first)?;
    scene.launch("nothing", second, &[])?;
    let done = scene.recorded(second)?;
    ok!(cuEventSynchronize(done));
    is_pending(before)
}

fn one_stream_is_in_order(scene: &mut Scene) -> Outcome {
    let stream = scene.non_blocking()?;
    holds!(second_waits(scene, stream, stream)?);
    Ok(())
}

fn thousands_of_launches_are_in_order(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(4)?);
    for value in 0..3000_u32 {
        scene.store(address, value, stream)?;
    }
    same!(scene.word(address)?, 2999);
    Ok(())
}

fn blocking_streams_do_not_wait_for_each_other(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.stream()?);
    holds!(second_overtakes(scene, first, second)?);
    Ok(())
}

fn legacy_waits_for_blocking(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    holds!(second_waits(scene, stream, 0)?);
    Ok(())
}

fn blocking_waits_for_legacy(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    holds!(second_waits(scene, 0, stream)?);
    Ok(())
}

fn legacy_orders_two_blocking_streams(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.stream()?);
    let (from, to) = (scene.device(4)?, scene.device(4)?);
    scene.slow_store(from, 62, first)?;
    scene.launch("nothing", 0, &[])?;
    scene.move_word(to, from, second)?;
    same!(scene.word(to)?, 62);
    Ok(())
}

fn waits_in_legacy_for_complete_events_order_blocking_streams(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.stream()?);
    let (from, to, complete) = (scene.device(4)?, scene.device(4)?, scene.recorded(first)?);
    ok!(cuEventSynchronize(complete));
    scene.slow_store(from, 63, first)?;
    ok!(cuStreamWaitEvent(0, complete, 0));
    scene.move_word(to, from, second)?;
    same!(scene.word(to)?, 63);
    Ok(())
}

fn legacy_does_not_wait_for_non_blocking(scene: &mut Scene) -> Outcome {
    let stream = scene.non_blocking()?;
    holds!(second_overtakes(scene, stream, 0)?);
    Ok(())
}

fn non_blocking_does_not_wait_for_legacy(scene: &mut Scene) -> Outcome {
    let stream = scene.non_blocking()?;
    holds!(second_overtakes(scene, 0, stream)?);
    Ok(())
}

fn non_blocking_does_not_wait_for_blocking(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.non_blocking()?);
    holds!(second_overtakes(scene, first, second)?);
    Ok(())
}

fn legacy_handle_behaves_as_null(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    holds!(second_waits(scene, stream, LEGACY)?);
    holds!(second_waits(scene, LEGACY, stream)?);
    Ok(())
}

fn legacy_waits_for_per_thread(scene: &mut Scene) -> Outcome {
    holds!(second_waits(scene, PER_THREAD, 0)?);
    Ok(())
}

fn per_thread_waits_for_legacy(scene: &mut Scene) -> Outcome {
    holds!(second_waits(scene, 0, PER_THREAD)?);
    Ok(())
}

fn per_thread_does_not_wait_for_blocking(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    holds!(second_overtakes(scene, stream, PER_THREAD)?);
    Ok(())
}

fn legacy_event_stands_for_blocking_streams(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(stream)?;
    let event = scene.recorded(0)?;
    holds!(is_pending(event)?);
    ok!(cuEventSynchronize(event));
    holds!(!is_busy(stream)?);
    Ok(())
}

fn legacy_synchronize_waits_for_blocking(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(stream)?;
    ok!(cuStreamSynchronize(0));
    holds!(!is_busy(stream)?);
    Ok(())
}

fn legacy_query_sees_blocking(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(stream)?;
    holds!(is_busy(0)?);
    Ok(())
}

fn legacy_synchronize_ignores_non_blocking(scene: &mut Scene) -> Outcome {
    let stream = scene.non_blocking()?;
    scene.busy(stream)?;
    ok!(cuStreamSynchronize(0));
    holds!(is_busy(stream)?);
    Ok(())
}

fn legacy_waits_for_destroyed_blocking(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    let (from, to) = (scene.device(4)?, scene.device(4)?);
    scene.slow_store(from, 63, stream)?;
    ok!(cuStreamDestroy_v2(stream));
    scene.move_word(to, from, 0)?;
    same!(scene.word(to)?, 63);
    Ok(())
}

fn event_orders_two_streams(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.non_blocking()?, scene.non_blocking()?);
    let (from, to) = (scene.device(4)?, scene.device(4)?);
    scene.slow_store(from, 64, first)?;
    let event = scene.recorded(first)?;
    ok!(cuStreamWaitEvent(second, event, 0));
    scene.move_word(to, from, second)?;
    same!(scene.word(to)?, 64);
    Ok(())
}

fn event_chain_orders_three_streams(scene: &mut Scene) -> Outcome {
    let streams = [
        scene.non_blocking()?,
        scene.non_blocking()?,
        scene.non_blocking()?,
    ];
    let (from, to) = (scene.device(4)?, scene.device(4)?);
    scene.slow_store(from, 65, streams[0])?;
    for pair in streams.windows(2) {
        let event = scene.recorded(pair[0])?;
        ok!(cuStreamWaitEvent(pair[1], event, 0));
    }
    scene.move_word(to, from, streams[2])?;
    same!(scene.word(to)?, 65);
    Ok(())
}

fn event_does_not_order_later_work(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.non_blocking()?, scene.non_blocking()?);
    scene.launch("nothing", first, &[])?;
    let event = scene.recorded(first)?;
    scene.busy(first)?;
    ok!(cuStreamWaitEvent(second, event, 0));
    scene.launch("nothing", second, &[])?;
    ok!(cuStreamSynchronize(second));
    holds!(is_busy(first)?);
    Ok(())
}
