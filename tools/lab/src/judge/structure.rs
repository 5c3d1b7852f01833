//! Whether a program does its work the way that a lab asks for: who waits for whom, in which streams, and with how much memory.

use super::{CheckedRun, Mark};
use crate::judge::checks::met;
use chapter_results::intervals::{Engine, HostCall, Recording};
use chapter_results::units::counted;
use std::collections::BTreeSet;

/// What an operation occupies, and what another one occupies that waits for it in a different stream.
type HandOver = (Engine, Engine);

/// The kinds of hand-overs: an event of one stream that an operation of another one waited for.
fn hand_overs(recording: &Recording) -> BTreeSet<HandOver> {
    let ends = recording.dependencies.iter().filter_map(|edge| {
        let [from, to] = [edge.from, edge.to].map(|place| recording.intervals.get(place));
        Some((from?, to?))
    });
    ends.filter(|(from, to)| (from.device, &from.stream) != (to.device, &to.stream))
        .map(|(from, to)| (from.engine, to.engine))
        .collect()
}

/// How many kernels run in the legacy default stream.
fn in_the_legacy_stream(recording: &Recording) -> usize {
    let kernels = recording.intervals.iter();
    kernels
        .filter(|own| own.engine == Engine::Kernel && own.stream == "legacy")
        .count()
}

/// Every hand-over of the goal is there, and every kernel of the goal's in the legacy stream. Where an order is missing, the report
/// says so already.
pub(super) fn structure(case: &CheckedRun) -> Mark {
    let Some(goal) = case.goal.filter(|_| case.record.reports.is_empty()) else {
        return Mark::Met(String::new());
    };
    let (own, wanted) = (&case.record.recording, &goal.recording);
    if let Some((from, to)) = hand_overs(wanted).difference(&hand_overs(own)).next() {
        return Mark::Missed(format!(
            "no event of another stream lets a {to} wait for a {from}, as in the goal"
        ));
    }
    let (found, required) = (in_the_legacy_stream(own), in_the_legacy_stream(wanted));
    met(
        found == required,
        format!("{found} kernels in the legacy stream, {required} required"),
    )
}

/// Memory that is allocated in stream order: how much of it the program holds at once, and that it frees all.
pub(super) fn allocations(case: &CheckedRun, at_once: u64) -> Mark {
    let (mut held, mut most) = (0u64, 0);
    for call in &case.record.recording.calls {
        match call.name.as_str() {
            "cuMemAllocAsync" | "cuMemAllocFromPoolAsync" => held += 1,
            "cuMemFreeAsync" => held = held.saturating_sub(1),
            _ => {}
        }
        most = most.max(held);
    }
    if held > 0 {
        return Mark::Missed(format!(
            "{} not freed in stream order",
            counted(held, "allocation")
        ));
    }
    let found = format!(
        "{} held at once, at most {at_once} allowed",
        counted(most, "allocation")
    );
    met(most <= at_once, found)
}

/// Whether the program had released everything when it ended.
pub(super) fn all_freed(case: &CheckedRun) -> Mark {
    let Some(left) = case.record.left else {
        return Mark::Missed("the program has not come to its end".to_owned());
    };
    let kinds = [
        (left.streams, "stream", ""),
        (left.device_memory, "allocation", " of device memory"),
        (left.page_locked, "allocation", " of page-locked memory"),
    ];
    match kinds.into_iter().find(|(count, ..)| *count > 0) {
        Some((count, object, of)) => Mark::Missed(format!(
            "the program ends and leaves {}{of} behind",
            counted(count, object)
        )),
        None => Mark::Met("everything is given back".to_owned()),
    }
}

/// How often the host waits: by calls that synchronise, and by every other one that keeps it while the device works, which are
/// blocking copies, `cuMemFree`, and questions whether something is over. `but` are calls that do not count.
pub(super) fn host_waits(case: &CheckedRun, at_least: u64, at_most: u64, but: &[String]) -> Mark {
    let recording = &case.record.recording;
    let counts = |call: &&HostCall| !but.contains(&call.name) && waits(recording, call);
    let waits: Vec<&HostCall> = recording.calls.iter().filter(counts).collect();
    let names: BTreeSet<&str> = waits.iter().map(|call| call.name.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let count = waits.len() as u64;
    let by = if names.is_empty() {
        String::new()
    } else {
        format!(" ({})", names.join(", "))
    };
    let found = format!(
        "the host waits {}{by}, {}",
        if count == 1 {
            "once".to_owned()
        } else {
            format!("{count} times")
        },
        asked(at_least, at_most)
    );
    met((at_least..=at_most).contains(&count), found)
}

fn waits(recording: &Recording, call: &HostCall) -> bool {
    if call.name.ends_with("Synchronize") {
        return true;
    }
    // A loop that polls for completion is recorded as its last query, which began when the call before it had returned.
    if call.name.ends_with("Query") {
        let own = recording
            .calls
            .iter()
            .filter(|other| other.thread == call.thread);
        let before = own
            .map(|other| other.span.end)
            .filter(|end| *end <= call.span.start);
        return is_under_way(recording, call, before.max().unwrap_or(call.span.start));
    }
    // A launch does not wait for its kernel: on a GPU it may take longer than a short one.
    let is_held = recording.is_held(call) && !call.name.contains("Launch");
    let keeps = call.waits() || is_held || RELEASING.contains(&call.name.as_str());
    keeps && is_under_way(recording, call, call.span.start)
}

/// Calls that wait for the device before they give something back to the system.
const RELEASING: [&str; 3] = ["cuMemFreeHost", "cuMemHostUnregister", "cuModuleUnload"];

/// Whether an operation that was enqueued before a call was not over at a time.
fn is_under_way(recording: &Recording, call: &HostCall, time: i64) -> bool {
    let earlier = recording
        .calls
        .iter()
        .filter(|other| other.span.start < call.span.start);
    let mut enqueued = earlier.filter_map(|other| recording.intervals.get(other.interval?));
    enqueued.any(|own| own.span.end.cast_signed() > time)
        || is_graph_under_way(recording, call, time)
}

/// Whether a node of a graph that was launched before a call was not over at a time. No call leads to a node: it belongs to an earlier
/// launch if it began before the next one.
fn is_graph_under_way(recording: &Recording, call: &HostCall, time: i64) -> bool {
    let launches = recording
        .calls
        .iter()
        .filter(|other| other.name.starts_with("cuGraphLaunch"));
    let (before, behind): (Vec<&HostCall>, Vec<&HostCall>) =
        launches.partition(|launch| launch.span.start < call.span.start);
    if before.is_empty() {
        return false;
    }
    let next = behind.iter().map(|launch| launch.span.start).min();
    let enqueued: BTreeSet<usize> = recording
        .calls
        .iter()
        .filter_map(|other| other.interval)
        .collect();
    let all = recording.intervals.iter().enumerate();
    let mut nodes = all.filter(|(place, _)| !enqueued.contains(place));
    nodes.any(|(_, node)| {
        let [start, end] = [node.span.start, node.span.end].map(u64::cast_signed);
        end > time && next.is_none_or(|next| start < next)
    })
}

/// The condition on a number.
pub(super) fn asked(at_least: u64, at_most: u64) -> String {
    match (at_least, at_most) {
        (least, most) if least == most => format!("exactly {least} required"),
        (0, most) => format!("at most {most} allowed"),
        (least, u64::MAX) => format!("at least {least} required"),
        (least, most) => format!("{least} to {most} required"),
    }
}

/// The copies out that no call of the host has waited for when it hands in: how long after its last wait they end, in nanoseconds.
pub(super) fn unawaited(recording: &Recording) -> Option<u64> {
    let copies = recording.spans(|own| own.engine == Engine::DeviceToHost);
    let last = copies.iter().map(|span| span.end.cast_signed()).max()?;
    let calls = recording.calls.iter();
    let waits = calls
        .filter(|call| call.waits() || call.name.ends_with("Query") || recording.is_held(call));
    let waited = waits.map(|call| call.span.end).max().unwrap_or(i64::MIN);
    (waited < last).then(|| last.abs_diff(waited.max(0)))
}
