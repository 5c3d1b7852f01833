//! A recording from the device's own records and the notes.

use super::dependencies::Shown;
use super::notes::{self, NotedCall, Notes};
use super::record::DeviceRecord;
use crate::intervals::{
    Finding, HostCall, HostSpan, Interval, Placement, Range, Recording, Source,
};
use software_gpu::reports::Report;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// An operation that ran.
pub(super) struct Ran {
    /// The place of its stream in the notes.
    pub(super) stream: Option<usize>,
    /// Rises within a stream in the order of enqueueing.
    pub(super) enqueued: u64,
    pub(super) interval: Interval,
}

/// The recording that these records and what was noted make.
pub(super) fn recording(
    source: Source,
    records: Vec<DeviceRecord>,
    reports: Vec<Report>,
) -> Recording {
    let mut notes = notes::take();
    let phases = std::mem::take(&mut notes.phases);
    let numbers: Vec<u64> = records.iter().map(|record| record.enqueued).collect();
    let ran = records.into_iter().map(|record| {
        let stream = notes.place_of_record(record.stream);
        let name = stream.map(|place| notes.stream_name(place).to_owned());
        Ran {
            stream,
            enqueued: record.enqueued,
            interval: Interval {
                device: record.device,
                engine: record.engine,
                stream: name.unwrap_or_else(|| format!("stream {}", record.stream)),
                name: record.name,
                span: record.span,
                bytes: record.bytes,
            },
        }
    });
    let ran = ran.collect();
    let (mut recording, placement) = assembled(source, &notes, ran);
    recording.ranges = ranges(phases, placement.origin);
    recording.findings = findings(reports, &numbers, &placement.places);
    recording
}

/// The phases on the recording's clock, which begins at `origin`, in order of their starts; an enclosing one comes before
/// those within it. Operations that ended before are left out.
fn ranges(phases: Vec<Range>, origin: u64) -> Vec<Range> {
    let mut ranges: Vec<Range> = phases
        .into_iter()
        .filter(|phase| phase.span.end > origin)
        .collect();
    ranges.sort_by(|a, b| {
        let key = |range: &Range| (range.span.start, Reverse(range.span.end));
        (key(a), &a.thread, &a.name).cmp(&(key(b), &b.thread, &b.name))
    });
    for range in &mut ranges {
        range.span.start = range.span.start.saturating_sub(origin);
        range.span.end -= origin;
    }
    ranges
}

/// The reports with the places of the operations that they are about. `numbers` are those of the operations, `places` the
/// places in the same order.
fn findings(reports: Vec<Report>, numbers: &[u64], places: &[usize]) -> Vec<Finding> {
    let places: BTreeMap<u64, usize> = numbers
        .iter()
        .copied()
        .zip(places.iter().copied())
        .collect();
    let finding = |report: Report| Finding {
        text: report.text,
        intervals: (report.operations.iter())
            .filter_map(|number| places.get(number).copied())
            .collect(),
    };
    reports.into_iter().map(finding).collect()
}

/// The recording of what ran, with what waited for what.
pub(super) fn assembled(source: Source, notes: &Notes, ran: Vec<Ran>) -> (Recording, Placement) {
    let mut queues: BTreeMap<usize, Vec<(u64, usize)>> = BTreeMap::new();
    for (index, operation) in ran.iter().enumerate() {
        if let Some(stream) = operation.stream {
            (queues.entry(stream).or_default()).push((operation.enqueued, index));
        }
    }
    let intervals = ran.into_iter().map(|operation| operation.interval);
    let (mut recording, placement) = Recording::placed(source, intervals.collect());
    let in_order = |mut queue: Vec<(u64, usize)>| -> Vec<usize> {
        queue.sort_unstable();
        let places = queue.into_iter().map(|(_, index)| placement.places[index]);
        places.collect()
    };
    let queues: BTreeMap<usize, Vec<usize>> = queues
        .into_iter()
        .map(|(stream, queue)| (stream, in_order(queue)))
        .collect();
    recording.dependencies = notes.waits.dependencies(&recording, &queues);
    recording.calls = calls(
        notes,
        &notes.waits.shown(&recording, &queues),
        placement.origin,
    );
    (recording, placement)
}

/// The host's calls on the recording's clock, which begins at `origin`, with the operations that they enqueued.
fn calls(notes: &Notes, shown: &Shown, origin: u64) -> Vec<HostCall> {
    let on_clock = |time: u64| time.cast_signed().wrapping_sub(origin.cast_signed());
    let call = |call: &NotedCall| HostCall {
        name: call.name.to_owned(),
        thread: call.thread.clone(),
        span: HostSpan {
            start: on_clock(call.span.start),
            end: on_clock(call.span.end.max(call.span.start)),
        },
        stream: call.stream.map(|place| notes.stream_name(place).to_owned()),
        interval: (call.stream.zip(call.operation))
            .and_then(|(stream, number)| *shown.get(&stream)?.get(number)?),
    };
    notes.calls.iter().map(call).collect()
}
