//! What the flags of events, of records and of waits do.

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{Scene, is_busy, is_pending};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "event_flags";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(every_combination_is_created, "cuEventCreate",
        "Blocking synchronisation and disabled timing go together with each other and with interprocess."),
    rule!(untimed_events_order_streams, "CU_EVENT_DISABLE_TIMING",
        "An event without timing orders streams as one with timing does."),
    rule!(untimed_events_are_waited_for, "CU_EVENT_DISABLE_TIMING",
        "Queries and synchronisations of an event without timing tell when it is reached."),
    rule!(interprocess_events_work_in_their_process, "CU_EVENT_INTERPROCESS",
        "An interprocess event orders and is waited for in its own process as any other."),
    rule!(blocking_sync_changes_no_query, "CU_EVENT_BLOCKING_SYNC",
        "A query of an event with blocking synchronisation does not wait."),
    rule!(one_untimed_event_spoils_the_time, "cuEventElapsedTime",
        "The elapsed time is refused if either event was created without timing."),
    rule!(pending_untimed_events_have_no_time, "cuEventElapsedTime",
        "Events without timing have no time while they are pending either: the code is not NOT_READY."),
    rule!(external_record_needs_a_capture, "CU_EVENT_RECORD_EXTERNAL",
        "Recording with the external flag outside of a capture is refused."),
    rule!(external_wait_needs_a_capture, "CU_EVENT_WAIT_EXTERNAL",
        "Waiting with the external flag outside of a capture is refused."),
    rule!(external_record_becomes_a_node, "CU_EVENT_RECORD_EXTERNAL",
        "In a capture an external record becomes a record node, which records at each launch."),
    rule!(external_wait_becomes_a_node, "CU_EVENT_WAIT_EXTERNAL",
        "In a capture an external wait becomes a wait node, and the event may have been recorded outside."),
];

/// `CU_EVENT_RECORD_EXTERNAL`, `CU_EVENT_WAIT_EXTERNAL`.
const EXTERNAL: u32 = 1;
/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`.
const THREAD_LOCAL: u32 = 1;
/// `CU_GRAPH_NODE_TYPE_WAIT_EVENT` and `_EVENT_RECORD`.
const WAIT_EVENT: u32 = 6;
const EVENT_RECORD: u32 = 7;

fn every_combination_is_created(scene: &mut Scene) -> Outcome {
    for flags in [
        BLOCKING_SYNC,
        DISABLE_TIMING,
        BLOCKING_SYNC | DISABLE_TIMING,
        DISABLE_TIMING | INTERPROCESS,
        BLOCKING_SYNC | DISABLE_TIMING | INTERPROCESS,
    ] {
        let event = scene.event_with(flags)?;
        ok!(cuEventRecord(event, 0));
        ok!(cuEventSynchronize(event));
        ok!(cuEventDestroy_v2(event));
    }
    Ok(())
}

/// Whether an event with flags makes one stream wait for another.
fn orders(scene: &mut Scene, flags: u32) -> Outcome {
    let (first, second) = (scene.non_blocking()?, scene.non_blocking()?);
    let (from, to, event) = (scene.device(4)?, scene.device(4)?, scene.event_with(flags)?);
    scene.slow_store(from, 13, first)?;
    ok!(cuEventRecord(event, first));
    ok!(cuStreamWaitEvent(second, event, 0));
    scene.move_word(to, from, second)?;
    same!(scene.word(to)?, 13);
    Ok(())
}

/// Whether an event with flags is pending while the work before it runs, and reached when that has ended.
fn tells(scene: &mut Scene, flags: u32) -> Outcome {
    let (stream, event) = (scene.stream()?, scene.event_with(flags)?);
    scene.busy(stream)?;
    ok!(cuEventRecord(event, stream));
    holds!(is_pending(event)?);
    ok!(cuEventSynchronize(event));
    holds!(!is_pending(event)?);
    holds!(!is_busy(stream)?);
    Ok(())
}

fn untimed_events_order_streams(scene: &mut Scene) -> Outcome {
    orders(scene, DISABLE_TIMING)
}

fn untimed_events_are_waited_for(scene: &mut Scene) -> Outcome {
    tells(scene, DISABLE_TIMING)
}

fn interprocess_events_work_in_their_process(scene: &mut Scene) -> Outcome {
    orders(scene, INTERPROCESS | DISABLE_TIMING)?;
    tells(scene, INTERPROCESS | DISABLE_TIMING)
}

fn blocking_sync_changes_no_query(scene: &mut Scene) -> Outcome {
    tells(scene, BLOCKING_SYNC)
}

fn one_untimed_event_spoils_the_time(scene: &mut Scene) -> Outcome {
    let (timed, untimed) = (scene.recorded(0)?, scene.event_with(DISABLE_TIMING)?);
    ok!(cuEventRecord(untimed, 0));
    ok!(cuStreamSynchronize(0));
    let mut milliseconds = 0.0;
    gives!(
        INVALID_HANDLE,
        cuEventElapsedTime_v2(&mut milliseconds, timed, untimed)
    );
    gives!(
        INVALID_HANDLE,
        cuEventElapsedTime_v2(&mut milliseconds, untimed, timed)
    );
    Ok(())
}

fn pending_untimed_events_have_no_time(scene: &mut Scene) -> Outcome {
    let (timed, untimed) = (scene.recorded(0)?, scene.event_with(DISABLE_TIMING)?);
    scene.busy(0)?;
    ok!(cuEventRecord(untimed, 0));
    let mut milliseconds = 0.0;
    gives!(
        INVALID_HANDLE,
        cuEventElapsedTime_v2(&mut milliseconds, timed, untimed)
    );
    Ok(())
}

fn external_record_needs_a_capture(scene: &mut Scene) -> Outcome {
    let event = scene.event()?;
    gives!(ILLEGAL_STATE, cuEventRecordWithFlags(event, 0, EXTERNAL));
    Ok(())
}

fn external_wait_needs_a_capture(scene: &mut Scene) -> Outcome {
    let (stream, event) = (scene.stream()?, scene.recorded(0)?);
    gives!(ILLEGAL_STATE, cuStreamWaitEvent(stream, event, EXTERNAL));
    Ok(())
}

/// The graph of what `work` gives to a capturing stream, and the types of its nodes.
fn captured(
    scene: &Scene,
    work: impl FnOnce(Handle) -> Outcome,
) -> Outcome<(Handle, Handle, Vec<u32>)> {
    let stream = scene.non_blocking()?;
    ok!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    work(stream)?;
    let graph = out(|graph| cu!(cuStreamEndCapture(stream, graph)))?;
    let (mut nodes, mut count) = ([0; 8], 8);
    ok!(cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count));
    let types = nodes
        .iter()
        .take(count)
        .map(|node| out(|kind| cu!(cuGraphNodeGetType(*node, kind))))
        .collect::<Outcome<_>>()?;
    Ok((stream, graph, types))
}

fn external_record_becomes_a_node(scene: &mut Scene) -> Outcome {
    let event = scene.event()?;
    scene.module()?;
    let (stream, graph, types) = captured(scene, |stream| {
        ok!(cuEventRecordWithFlags(event, stream, EXTERNAL));
        Ok(())
    })?;
    same!(types, vec![EVENT_RECORD]);
    let executable: Handle =
        out(|executable| cu!(cuGraphInstantiateWithFlags(executable, graph, 0)))?;
    scene.busy(stream)?;
    ok!(cuGraphLaunch(executable, stream));
    holds!(is_pending(event)?);
    ok!(cuStreamSynchronize(stream));
    holds!(!is_pending(event)?);
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn external_wait_becomes_a_node(scene: &mut Scene) -> Outcome {
    let event = scene.recorded(0)?;
    let (_, graph, types) = captured(scene, |stream| {
        ok!(cuStreamWaitEvent(stream, event, EXTERNAL));
        Ok(())
    })?;
    same!(types, vec![WAIT_EVENT]);
    ok!(cuGraphDestroy(graph));
    Ok(())
}
