//! Events: what they stand for, waiting for them, and the time between two.

use std::ptr::null_mut;

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{Scene, is_busy, is_pending};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "events";

/// The rules of this family.
pub const RULES: &[Rule] = &[
    rule!(
        unknown_flags_are_refused,
        "cuEventCreate",
        "Flags that do not exist are refused."
    ),
    rule!(
        a_place_for_the_handle_is_needed,
        "cuEventCreate",
        "Creating an event without a place for its handle is refused."
    ),
    rule!(
        interprocess_events_keep_no_time,
        "CU_EVENT_INTERPROCESS",
        "An interprocess event must be created without timing."
    ),
    rule!(
        never_recorded_is_complete,
        "cuEventQuery",
        "An event that was never recorded counts as complete, for queries and for waiting hosts."
    ),
    rule!(
        never_recorded_holds_no_stream,
        "cuStreamWaitEvent",
        "A wait for an event that was never recorded does nothing."
    ),
    rule!(
        pending_while_work_is_before_it,
        "cuEventQuery",
        "A recorded event is not ready while work before its record runs."
    ),
    rule!(
        record_stands_for_what_was_before,
        "cuEventRecord",
        "Work given to the stream after the record does not hold the event."
    ),
    rule!(
        synchronize_waits_for_the_record,
        "cuEventSynchronize",
        "cuEventSynchronize returns when the work before the record is done."
    ),
    rule!(
        blocking_sync_waits_too,
        "CU_EVENT_BLOCKING_SYNC",
        "A host that sleeps while it waits wakes up when the work is done."
    ),
    rule!(
        record_again_means_the_last,
        "cuEventRecord",
        "Recording an event again makes queries ask for the last record."
    ),
    rule!(
        record_elsewhere_moves_it,
        "cuEventRecord",
        "An event may be recorded in another stream than before."
    ),
    rule!(
        wait_takes_the_last_record,
        "cuStreamWaitEvent",
        "A wait is for the last record before the call."
    ),
    rule!(
        record_after_the_wait_changes_nothing,
        "cuStreamWaitEvent",
        "Recording the event again after the call does not hold the waiting stream longer."
    ),
    rule!(
        record_after_the_wait_releases_nothing,
        "cuStreamWaitEvent",
        "Recording the event again in an idle stream does not release the waiting stream."
    ),
    rule!(
        wait_does_not_hold_the_host,
        "cuStreamWaitEvent",
        "cuStreamWaitEvent returns at once."
    ),
    rule!(
        wait_holds_later_work_only,
        "cuStreamWaitEvent",
        "Work given to the stream before the wait does not wait."
    ),
    rule!(
        many_streams_wait_for_one_event,
        "cuStreamWaitEvent",
        "Several streams wait for one record."
    ),
    rule!(
        wait_in_its_own_stream_is_harmless,
        "cuStreamWaitEvent",
        "A stream may wait for an event that was recorded in it."
    ),
    rule!(
        destroying_does_not_wait,
        "cuEventDestroy",
        "Destroying an event that is not complete returns at once."
    ),
    rule!(
        destroyed_event_still_holds,
        "cuEventDestroy",
        "A stream that waits for an event goes on waiting when the event is destroyed."
    ),
    rule!(
        wait_crosses_contexts,
        "cuStreamWaitEvent",
        "The event and the waiting stream may belong to different contexts."
    ),
    rule!(
        record_does_not_cross_contexts,
        "cuEventRecord",
        "An event is recorded in streams of its own context only."
    ),
    rule!(
        record_flags_must_exist,
        "cuEventRecordWithFlags",
        "Flags that do not exist are refused."
    ),
    rule!(null_is_refused, "cuEventRecord", "A null event is refused."),
];

fn unknown_flags_are_refused(_: &mut Scene) -> Outcome {
    let mut event = 0;
    for flags in [8, 0x100] {
        gives!(INVALID_VALUE, cuEventCreate(&mut event, flags));
    }
    Ok(())
}

fn a_place_for_the_handle_is_needed(_: &mut Scene) -> Outcome {
    gives!(INVALID_VALUE, cuEventCreate(null_mut(), 0));
    Ok(())
}

fn interprocess_events_keep_no_time(_: &mut Scene) -> Outcome {
    let mut event = 0;
    gives!(INVALID_VALUE, cuEventCreate(&mut event, INTERPROCESS));
    Ok(())
}

fn never_recorded_is_complete(scene: &mut Scene) -> Outcome {
    let event = scene.event()?;
    ok!(cuEventQuery(event));
    ok!(cuEventSynchronize(event));
    Ok(())
}

fn never_recorded_holds_no_stream(scene: &mut Scene) -> Outcome {
    let (stream, event) = (scene.stream()?, scene.event()?);
    ok!(cuStreamWaitEvent(stream, event, 0));
    ok!(cuStreamSynchronize(stream));
    Ok(())
}

fn pending_while_work_is_before_it(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(stream)?;
    let event = scene.recorded(stream)?;
    gives!(NOT_READY, cuEventQuery(event));
    ok!(cuStreamSynchronize(stream));
    ok!(cuEventQuery(event));
    Ok(())
}

fn record_stands_for_what_was_before(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    let event = scene.recorded(stream)?;
    scene.busy(stream)?;
    ok!(cuEventSynchronize(event));
    holds!(is_busy(stream)?);
    Ok(())
}

fn waits_for_the_record(scene: &mut Scene, flags: u32) -> Outcome {
    let (stream, event, pinned) = (scene.stream()?, scene.event_with(flags)?, scene.pinned(4)?);
    scene.slow_store(pinned.address(), 81, stream)?;
    ok!(cuEventRecord(event, stream));
    ok!(cuEventSynchronize(event));
    same!(pinned.word(), 81);
    Ok(())
}

fn synchronize_waits_for_the_record(scene: &mut Scene) -> Outcome {
    waits_for_the_record(scene, 0)?;
    waits_for_the_record(scene, DISABLE_TIMING)
}

fn blocking_sync_waits_too(scene: &mut Scene) -> Outcome {
    waits_for_the_record(scene, BLOCKING_SYNC)
}

fn record_again_means_the_last(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    let event = scene.recorded(stream)?;
    ok!(cuEventSynchronize(event));
    scene.busy(stream)?;
    ok!(cuEventRecord(event, stream));
    holds!(is_pending(event)?);
    Ok(())
}

fn record_elsewhere_moves_it(scene: &mut Scene) -> Outcome {
    let (busy, idle) = (scene.stream()?, scene.stream()?);
    scene.busy(busy)?;
    let event = scene.recorded(busy)?;
    ok!(cuEventRecord(event, idle));
    ok!(cuEventSynchronize(event));
    holds!(is_busy(busy)?);
    Ok(())
}

fn wait_takes_the_last_record(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.stream()?);
    let (from, to) = (scene.device(4)?, scene.device(4)?);
    let event = scene.recorded(first)?;
    scene.slow_store(from, 82, first)?;
    ok!(cuEventRecord(event, first));
    ok!(cuStreamWaitEvent(second, event, 0));
    scene.move_word(to, from, second)?;
    same!(scene.word(to)?, 82);
    Ok(())
}

fn record_after_the_wait_changes_nothing(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.stream()?);
    let event = scene.recorded(first)?;
    ok!(cuStreamWaitEvent(second, event, 0));
    scene.busy(first)?;
    ok!(cuEventRecord(event, first));
    scene.launch("nothing", second, &[])?;
    ok!(cuStreamSynchronize(second));
    holds!(is_busy(first)?);
    Ok(())
}

fn record_after_the_wait_releases_nothing(scene: &mut Scene) -> Outcome {
    let (first, second, idle) = (scene.stream()?, scene.stream()?, scene.stream()?);
    let (from, to) = (scene.device(4)?, scene.device(4)?);
    scene.slow_store(from, 83, first)?;
    let event = scene.recorded(first)?;
    ok!(cuStreamWaitEvent(second, event, 0));
    ok!(cuEventRecord(event, idle));
    scene.move_word(to, from, second)?;
    same!(scene.word(to)?, 83);
    Ok(())
}

fn wait_does_not_hold_the_host(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.stream()?);
    scene.busy(first)?;
    let event = scene.recorded(first)?;
    ok!(cuStreamWaitEvent(second, event, 0));
    holds!(is_busy(first)?);
    holds!(is_busy(second)?);
    Ok(())
}

fn wait_holds_later_work_only(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.stream()?);
    scene.busy(first)?;
    let event = scene.recorded(first)?;
    scene.launch("nothing", second, &[])?;
    let before = scene.recorded(second)?;
    ok!(cuStreamWaitEvent(second, event, 0));
    ok!(cuEventSynchronize(before));
    holds!(is_busy(first)?);
    Ok(())
}

fn many_streams_wait_for_one_event(scene: &mut Scene) -> Outcome {
    let (first, from) = (scene.stream()?, scene.device(4)?);
    scene.slow_store(from, 84, first)?;
    let event = scene.recorded(first)?;
    let mut results = Vec::new();
    for _ in 0..8 {
        let (stream, to) = (scene.stream()?, scene.device(4)?);
        ok!(cuStreamWaitEvent(stream, event, 0));
        scene.move_word(to, from, stream)?;
        results.push(to);
    }
    for to in results {
        same!(scene.word(to)?, 84);
    }
    Ok(())
}

fn wait_in_its_own_stream_is_harmless(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(stream)?;
    let event = scene.recorded(stream)?;
    ok!(cuStreamWaitEvent(stream, event, 0));
    ok!(cuStreamSynchronize(stream));
    Ok(())
}

fn destroying_does_not_wait(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(stream)?;
    let event = scene.recorded(stream)?;
    ok!(cuEventDestroy_v2(event));
    holds!(is_busy(stream)?);
    Ok(())
}

fn destroyed_event_still_holds(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.stream()?);
    let (from, to) = (scene.device(4)?, scene.device(4)?);
    scene.slow_store(from, 85, first)?;
    let event = scene.recorded(first)?;
    ok!(cuStreamWaitEvent(second, event, 0));
    ok!(cuEventDestroy_v2(event));
    scene.move_word(to, from, second)?;
    same!(scene.word(to)?, 85);
    Ok(())
}

/// Makes another context current and hands `body` a stream of it.
fn with_foreign_stream(scene: &Scene, body: impl FnOnce(Handle) -> Outcome) -> Outcome {
    let other: Handle = out(|context| cu!(cuCtxCreate_v2(context, 0, scene.device)))?;
    let stream = scene.stream()?;
    let outcome = body(stream);
    ok!(cuCtxDestroy_v2(other));
    outcome
}

fn wait_crosses_contexts(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(stream)?;
    let event = scene.recorded(stream)?;
    with_foreign_stream(scene, |foreign| {
        ok!(cuStreamWaitEvent(foreign, event, 0));
        ok!(cuStreamSynchronize(foreign));
        Ok(())
    })?;
    holds!(!is_pending(event)?);
    Ok(())
}

fn record_does_not_cross_contexts(scene: &mut Scene) -> Outcome {
    let event = scene.event()?;
    with_foreign_stream(scene, |foreign| {
        gives!(INVALID_HANDLE, cuEventRecord(event, foreign));
        Ok(())
    })
}

fn record_flags_must_exist(scene: &mut Scene) -> Outcome {
    let event = scene.event()?;
    gives!(INVALID_VALUE, cuEventRecordWithFlags(event, 0, 0x100));
    Ok(())
}

fn null_is_refused(_: &mut Scene) -> Outcome {
    gives!(INVALID_HANDLE, cuEventRecord(0, 0));
    Ok(())
}
