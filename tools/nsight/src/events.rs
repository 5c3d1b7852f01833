//! The waits through events.

use super::NsightError;
use super::calls::Calls;
use super::names::{numbers, process};
use super::operations::{OperationOrigin, Raw};
use super::table::{ExportRow, rows};
use rusqlite::Connection;
use std::collections::BTreeMap;

/// CUPTI's number for what is not there.
const NONE: i64 = 0xffff_ffff;

/// `cuStreamWaitEvent` was called, on the export's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawWait {
    /// The stream that waits; the device is not said.
    pub place: OperationOrigin,
    /// The time of the host's call.
    pub at: i64,
    /// The place of the event's record: the stream and the host's time. `None` when the export does not say.
    pub recorded: Option<(OperationOrigin, i64)>,
}

/// An event was recorded in a stream, at the time of the host's call.
type EventRecord = (OperationOrigin, i64);

/// The waits of streams for events, in order.
pub fn waits(database: &Connection, calls: &Calls) -> Result<Vec<RawWait>, NsightError> {
    let records = records(database, calls)?;
    let wait_type = numbers(database, "ENUM_CUPTI_SYNC_TYPE", "_STREAM_WAIT_EVENT", &[2])?;
    let columns = [
        "globalPid",
        "contextId",
        "streamId",
        "correlationId",
        "eventId",
        "eventSyncId",
        "syncType",
        "start",
    ];
    let mut waits = Vec::new();
    for row in rows(database, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", [], columns)? {
        let Some(place) = place(&row) else { continue };
        // The call says what it was. Types are not to be trusted: 2023.4 writes other numbers than those of its own enumeration.
        let call = calls.get(place.process, row.integer(3));
        let is_wait = match call {
            Some(call) => is_stream_wait(&call.name),
            None => row.integer(6).is_some_and(|kind| wait_type.contains(&kind)),
        };
        let at = call.map(|call| call.start).or(row.time(7));
        let Some(at) = at.filter(|&at| is_wait && !calls.captures(place.process, at)) else {
            continue;
        };
        let recorded = records.find(place.process, known(&row, 4), known(&row, 5), at);
        waits.push(RawWait {
            place,
            at,
            recorded,
        });
    }
    waits.sort_by_key(|wait| (wait.at, wait.place));
    Ok(waits)
}

/// The records of events, to be found by what a wait says of them.
struct Records {
    /// By process and the number that a record and its waits share.
    by_sync: BTreeMap<(u64, i64), EventRecord>,
    /// By process and event, in order.
    by_event: BTreeMap<(u64, i64), Vec<EventRecord>>,
}

impl Records {
    /// The exact record where the trace names it; otherwise the event's last record before the wait, which is what a wait waits for.
    fn find(
        &self,
        process: u64,
        event: Option<i64>,
        sync: Option<i64>,
        before: i64,
    ) -> Option<EventRecord> {
        let exact = sync.and_then(|sync| self.by_sync.get(&(process, sync)));
        exact.copied().or_else(|| {
            let of_event = self.by_event.get(&(process, event?))?;
            let earlier = of_event.partition_point(|&(_, at)| at <= before);
            of_event[..earlier].last().copied()
        })
    }
}

fn records(database: &Connection, calls: &Calls) -> Result<Records, NsightError> {
    let columns = [
        "globalPid",
        "contextId",
        "streamId",
        "correlationId",
        "eventId",
        "eventSyncId",
    ];
    let mut records = Records {
        by_sync: BTreeMap::new(),
        by_event: BTreeMap::new(),
    };
    for table in ["CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUDA_EVENT"] {
        for row in rows(database, table, [], columns)? {
            let Some(place) = place(&row) else { continue };
            // Without the call, the operation before it is unknown.
            let at = call_time(&row, place.process, calls);
            let Some(at) = at.filter(|&at| !calls.captures(place.process, at)) else {
                continue;
            };
            if let Some(event) = known(&row, 4) {
                let of_event = records.by_event.entry((place.process, event));
                of_event.or_default().push((place, at));
            }
            if let Some(sync) = known(&row, 5) {
                records.by_sync.insert((place.process, sync), (place, at));
            }
        }
    }
    for of_event in records.by_event.values_mut() {
        of_event.sort_by_key(|&(_, at)| at);
    }
    Ok(records)
}

/// Process, context and stream, of the first three columns.
fn place(row: &ExportRow) -> Option<OperationOrigin> {
    Some(OperationOrigin {
        process: row.integer(0).map_or(0, process),
        device: 0,
        context: row.integer(1).unwrap_or(0),
        stream: Some(known(row, 2)?),
    })
}

/// When the host made the call that the fourth column leads to.
fn call_time(row: &ExportRow, process: u64, calls: &Calls) -> Option<i64> {
    Some(calls.get(process, row.integer(3))?.start)
}

/// Whether a function of this name makes a stream wait for an event. Its other forms end in `_ptsz` or `WithFlags`.
fn is_stream_wait(name: &str) -> bool {
    name.starts_with("cuStreamWaitEvent") || name.starts_with("cudaStreamWaitEvent")
}

fn known(row: &ExportRow, column: usize) -> Option<i64> {
    row.integer(column).filter(|&value| value != NONE)
}

/// The call's time, the operation's times, and its place among the operations.
type Queued = (i64, i64, i64, usize);

/// The operations of each stream in the order in which the host enqueued them.
pub struct Queues {
    /// By process, context and stream.
    queues: BTreeMap<(u64, i64, i64), Vec<Queued>>,
}

impl Queues {
    /// The streams of operations in this order.
    pub fn of(operations: &[&Raw], calls: &Calls) -> Self {
        let mut queues: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (at, raw) in operations.iter().enumerate() {
            let call = calls.get(raw.place.process, raw.correlation);
            if let Some((key, call)) = key(&raw.place).zip(call) {
                let entry = (call.start, raw.start, raw.end, at);
                queues.entry(key).or_default().push(entry);
            }
        }
        queues.values_mut().for_each(|queue| queue.sort_unstable());
        Self { queues }
    }

    /// The last enqueued operation before that time.
    pub fn before(&self, place: &OperationOrigin, time: i64) -> Option<usize> {
        let queue = self.queues.get(&key(place)?)?;
        let earlier = queue.partition_point(|&(call, ..)| call <= time);
        // The operations of one call run as a graph: the one that ends last.
        let call = queue[..earlier].last()?.0;
        let of_call = queue[..earlier].iter().rev().take_while(|op| op.0 == call);
        of_call.max_by_key(|op| op.2).map(|&(.., at)| at)
    }

    /// The first enqueued operation after that time.
    pub fn after(&self, place: &OperationOrigin, time: i64) -> Option<usize> {
        let queue = self.queues.get(&key(place)?)?;
        let later = queue.partition_point(|&(call, ..)| call <= time);
        queue.get(later).map(|&(.., at)| at)
    }
}

fn key(place: &OperationOrigin) -> Option<(u64, i64, i64)> {
    Some((place.process, place.context, place.stream?))
}
