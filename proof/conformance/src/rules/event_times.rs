//! The time between two events.

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{BUSY, Scene};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "event_times";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(time_covers_the_work_between, "cuEventElapsedTime",
        "The time is at least the length of the kernel between the events, in milliseconds."),
    rule!(time_backwards_is_negative, "cuEventElapsedTime", "With the events exchanged the time has the other sign."),
    rule!(time_to_itself_is_zero, "cuEventElapsedTime", "From an event to itself no time passes."),
    rule!(time_across_streams, "cuEventElapsedTime", "The two events may be recorded in different streams."),
    rule!(time_of_pending_events_is_not_ready, "cuEventElapsedTime", "Before both events are reached the time is not ready."),
    rule!(time_needs_a_record, "cuEventElapsedTime", "An event that was never recorded has no time."),
    rule!(time_needs_timing, "CU_EVENT_DISABLE_TIMING", "An event created without timing has no time."),
    rule!(time_is_of_the_last_record, "cuEventRecord", "An event recorded again has the time of the last record."),
];

fn elapsed(start: Handle, end: Handle) -> Outcome<f32> {
    out(|time| cu!(cuEventElapsedTime(time, start, end)))
}

/// Two reached events with a long kernel between them.
fn apart(scene: &mut Scene) -> Outcome<(Handle, Handle)> {
    let stream = scene.stream()?;
    let start = scene.recorded(stream)?;
    scene.busy(stream)?;
    let end = scene.recorded(stream)?;
    ok!(cuStreamSynchronize(stream));
    Ok((start, end))
}

fn time_covers_the_work_between(scene: &mut Scene) -> Outcome {
    let (start, end) = apart(scene)?;
    let time = elapsed(start, end)?;
    holds!(f64::from(time) >= BUSY.as_secs_f64() * 990.0);
    holds!(time < 10_000.0);
    Ok(())
}

fn time_backwards_is_negative(scene: &mut Scene) -> Outcome {
    let (start, end) = apart(scene)?;
    same!(elapsed(end, start)?, -elapsed(start, end)?);
    Ok(())
}

fn time_to_itself_is_zero(scene: &mut Scene) -> Outcome {
    let event = scene.recorded(0)?;
    ok!(cuEventSynchronize(event));
    same!(elapsed(event, event)?, 0.0);
    Ok(())
}

fn time_across_streams(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.stream()?);
    let start = scene.recorded(first)?;
    scene.busy(second)?;
    let end = scene.recorded(second)?;
    ok!(cuCtxSynchronize());
    holds!(f64::from(elapsed(start, end)?) >= BUSY.as_secs_f64() * 900.0);
    Ok(())
}

fn time_of_pending_events_is_not_ready(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    let start = scene.recorded(stream)?;
    scene.busy(stream)?;
    let end = scene.recorded(stream)?;
    let mut time = 0.0;
    gives!(NOT_READY, cuEventElapsedTime(&mut time, start, end));
    Ok(())
}

fn time_needs_a_record(scene: &mut Scene) -> Outcome {
    let (recorded, never) = (scene.recorded(0)?, scene.event()?);
    ok!(cuCtxSynchronize());
    let mut time = 0.0;
    gives!(
        INVALID_HANDLE,
        cuEventElapsedTime(&mut time, recorded, never)
    );
    gives!(
        INVALID_HANDLE,
        cuEventElapsedTime(&mut time, never, recorded)
    );
    Ok(())
}

fn time_needs_timing(scene: &mut Scene) -> Outcome {
    let (timed, untimed) = (scene.recorded(0)?, scene.event_with(DISABLE_TIMING)?);
    ok!(cuEventRecord(untimed, 0));
    ok!(cuCtxSynchronize());
    let mut time = 0.0;
    gives!(
        INVALID_HANDLE,
        cuEventElapsedTime(&mut time, timed, untimed)
    );
    Ok(())
}

fn time_is_of_the_last_record(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    let (start, end) = (scene.recorded(stream)?, scene.recorded(stream)?);
    scene.busy(stream)?;
    ok!(cuEventRecord(end, stream));
    ok!(cuStreamSynchronize(stream));
    holds!(f64::from(elapsed(start, end)?) >= BUSY.as_secs_f64() * 990.0);
    Ok(())
}
