//! Recording when each operation of a run was executing.
//!
//! [`record`] runs a body under observation, apart from the timed runs, and gives the intervals of
//! what it enqueued. Where they come from depends on the device and on what is installed; see
//! [`Source`]. Every enqueue of this crate passes through here, and so does every record of an event and every
//! wait for one, which costs one relaxed load when nothing is being recorded.

use crate::cupti;
use crate::dependencies::Noted;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::event::{Event, Timing};
use crate::host_clock;
use crate::intervals::{Engine, Finding, Interval, Placement, Range, Recording, Source, Span};
use crate::software_log;
use crate::stream::{Kind, Stream};
use libcuda::Driver;
use software_gpu::reports::Report;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What every enqueue does besides: nothing, note its stream, or record events around itself.
static MODE: AtomicU8 = AtomicU8::new(OFF);
const OFF: u8 = 0;
const NOTE: u8 = 1;
const RECORD_EVENTS: u8 = 2;

static NOTES: Mutex<Notes> = Mutex::new(Notes::new());

/// A stream, with the number that the device's own records have for it. Two handles of a default stream have one.
type Used = (Option<u64>, Stream);

/// What enqueues left behind while recording.
struct Notes {
    streams: Vec<Used>,
    /// Who waits for whom, by places in `streams`.
    waits: Noted,
    /// Phases of host threads, on the clock of the device's records.
    phases: Vec<Range>,
    /// Operations with events around them.
    operations: Vec<Operation>,
}

struct Operation {
    engine: Engine,
    name: String,
    stream: usize,
    bytes: u64,
    begin: Event,
    end: Event,
}

impl Notes {
    const fn new() -> Self {
        Self {
            streams: Vec::new(),
            waits: Noted::new(),
            phases: Vec::new(),
            operations: Vec::new(),
        }
    }

    fn stream_name(&self, stream: usize) -> String {
        self.streams[stream].1.name().to_owned()
    }
}

/// Enqueues an operation, and notes it while recording.
#[inline]
pub(crate) fn operation(
    stream: &Stream,
    engine: Engine,
    name: &str,
    bytes: usize,
    enqueue: impl FnOnce() -> Result<()>,
) -> Result<()> {
    match MODE.load(Ordering::Relaxed) {
        OFF => enqueue(),
        NOTE => noted(stream, engine, enqueue),
        _ => between_events(stream, engine, name, bytes, enqueue),
    }
}

/// Notes while recording that an event was created.
#[inline]
pub(crate) fn event_created(event: &Event) {
    if MODE.load(Ordering::Relaxed) != OFF {
        notes().waits.event_created(event.raw() as usize);
    }
}

/// Notes while recording that an event was recorded.
#[inline]
pub(crate) fn event_recorded(event: &Event, stream: &Stream) -> Result<()> {
    if MODE.load(Ordering::Relaxed) != OFF {
        let stream = stream_place(stream)?;
        (notes().waits).event_recorded(stream, event.raw() as usize);
    }
    Ok(())
}

/// Notes while recording that a stream was told to wait for an event.
#[inline]
pub(crate) fn waited(stream: &Stream, event: &Event) -> Result<()> {
    if MODE.load(Ordering::Relaxed) != OFF {
        let stream = stream_place(stream)?;
        notes().waits.waited(stream, event.raw() as usize);
    }
    Ok(())
}

// The notes are never locked across a driver call: on the modelled host such a call may wait for
// another thread's.

/// The present on the clock of the device's records, in nanoseconds, while something is recorded with them.
#[inline]
pub(crate) fn now() -> Option<u64> {
    if MODE.load(Ordering::Relaxed) == NOTE {
        now_of_records()
    } else {
        None
    }
}

#[cold]
fn now_of_records() -> Option<u64> {
    match libcuda::selected()?.driver {
        Driver::Software => u64::try_from(host_clock::now().as_nanos()).ok(),
        Driver::Nvidia => cupti::cupti().ok()?.now(),
    }
}

/// Notes a phase of a thread that began at `start` and ends now, while something is recorded.
#[cold]
pub(crate) fn phase(name: String, thread: String, start: u64) {
    if let Some(end) = now() {
        let span = Span {
            start,
            end: end.max(start),
        };
        notes().phases.push(Range { name, thread, span });
    }
}

/// The stream's place in the notes.
#[cold]
fn stream_place(stream: &Stream) -> Result<usize> {
    let place = |known: &dyn Fn(&Used) -> bool| notes().streams.iter().position(known);
    if let Some(place) = place(&|(_, known)| known == stream) {
        return Ok(place);
    }
    let id = record_id(stream)?;
    if let Some(place) = place(&|(known, _)| known.is_some() && *known == id) {
        return Ok(place);
    }
    let streams = &mut notes().streams;
    streams.push((id, stream.clone()));
    Ok(streams.len() - 1)
}

#[cold]
fn noted(stream: &Stream, engine: Engine, enqueue: impl FnOnce() -> Result<()>) -> Result<()> {
    // First what can fail: behind the enqueue nobody expects it.
    let place = stream_place(stream)?;
    enqueue()?;
    notes().waits.enqueued(place, engine);
    Ok(())
}

#[cold]
fn between_events(
    stream: &Stream,
    engine: Engine,
    name: &str,
    bytes: usize,
    enqueue: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let (device, place) = (stream.device(), stream_place(stream)?);
    let (begin, end) = (
        Event::new(device, Timing::On)?,
        Event::new(device, Timing::On)?,
    );
    begin.record(stream)?;
    enqueue()?;
    end.record(stream)?;
    let (name, bytes) = (name.to_owned(), bytes as u64);
    let mut notes = notes();
    notes.waits.enqueued(place, engine);
    notes.operations.push(Operation {
        engine,
        name,
        stream: place,
        bytes,
        begin,
        end,
    });
    Ok(())
}

/// The number that the device's own records have for a stream.
fn record_id(stream: &Stream) -> Result<Option<u64>> {
    let device = stream.device();
    if is_free(device) {
        return software_log::stream_id(stream).map(Some);
    }
    let Ok(cupti) = cupti::cupti() else {
        return Ok(None);
    };
    let (raw, per_thread) = match stream.kind() {
        Kind::Legacy => (ptr::null_mut(), false),
        Kind::PerThread => (ptr::null_mut(), true),
        Kind::Blocking | Kind::NonBlocking => (stream.raw()?, false),
    };
    Ok(cupti
        .stream_id(device.raw_context(), raw, per_thread)
        .map(u64::from))
}

fn notes() -> MutexGuard<'static, Notes> {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Observation of every enqueue, until dropped.
struct Observing;

impl Observing {
    fn start(mode: u8) -> Self {
        drop(take_notes());
        MODE.store(mode, Ordering::Relaxed);
        Self
    }
}

impl Drop for Observing {
    fn drop(&mut self) {
        MODE.store(OFF, Ordering::Relaxed);
    }
}

fn take_notes() -> Notes {
    std::mem::replace(&mut *notes(), Notes::new())
}

/// Whether recording changes nothing on this device, so that a timed run can be recorded: true of a
/// model.
pub fn is_free(device: &Device) -> bool {
    device.driver() == Driver::Software
}

/// Runs `body` and records when its operations were executing. Returns when all of them have
/// finished. One recording at a time: another thread's would mix with this one.
pub fn record<E: From<Error>>(
    device: &Device,
    body: impl FnOnce() -> Result<(), E>,
) -> Result<Recording, E> {
    recorded(device, body).map(|((), recording)| recording)
}

/// As [`record`], and returns what `body` does.
pub fn recorded<R, E: From<Error>>(
    device: &Device,
    body: impl FnOnce() -> Result<R, E>,
) -> Result<(R, Recording), E> {
    device.synchronize()?;
    if is_free(device) {
        software_log::start();
        return by_records(device, Source::SoftwareGpu, body, software_log::stop);
    }
    match cupti::cupti()
        .map_err(str::to_owned)
        .and_then(|cupti| cupti.start().map(|()| cupti))
    {
        Ok(cupti) => by_records(device, Source::Cupti, body, || (cupti.stop(), Vec::new())),
        Err(why) => by_events(device, why, body),
    }
}

/// What the device's own records say of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) engine: Engine,
    pub(crate) name: String,
    pub(crate) stream: u64,
    /// Rises within a stream in the order of enqueueing. On the software GPU it is the operation's number in reports.
    pub(crate) enqueued: u64,
    pub(crate) span: Span,
    pub(crate) bytes: u64,
}

fn by_records<R, E: From<Error>>(
    device: &Device,
    source: Source,
    body: impl FnOnce() -> Result<R, E>,
    take: impl FnOnce() -> (Vec<Record>, Vec<Report>),
) -> Result<(R, Recording), E> {
    let observing = Observing::start(NOTE);
    let done = body();
    drop(observing);
    let idle = device.synchronize();
    // Taken on every way out, so that the device stops recording.
    let (records, reports) = take();
    let result = done?;
    idle?;
    let mut notes = take_notes();
    let phases = std::mem::take(&mut notes.phases);
    let numbers: Vec<u64> = records.iter().map(|record| record.enqueued).collect();
    let ran = records.into_iter().map(|record| {
        let own = |(id, _): &Used| *id == Some(record.stream);
        let stream = notes.streams.iter().position(own);
        let interval = Interval {
            engine: record.engine,
            stream: match stream {
                Some(place) => notes.stream_name(place),
                None => format!("stream {}", record.stream),
            },
            name: record.name,
            span: record.span,
            bytes: record.bytes,
        };
        let enqueued = record.enqueued;
        Ran {
            stream,
            enqueued,
            interval,
        }
    });
    let (mut recording, placement) = recording(source, &notes.waits, ran.collect());
    recording.ranges = ranges(phases, placement.origin);
    recording.findings = findings(reports, &numbers, &placement.places);
    Ok((result, recording))
}

/// The phases on the recording's clock, which begins at `origin`, in order of their starts; an enclosing one comes before
/// those within it. What was over before is left out.
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

/// An operation that ran.
struct Ran {
    /// The place of its stream in the notes.
    stream: Option<usize>,
    /// Rises within a stream in the order of enqueueing.
    enqueued: u64,
    interval: Interval,
}

fn recording(source: Source, waits: &Noted, ran: Vec<Ran>) -> (Recording, Placement) {
    let mut queues: BTreeMap<usize, Vec<(u64, usize)>> = BTreeMap::new();
    for (index, operation) in ran.iter().enumerate() {
        if let Some(stream) = operation.stream {
            (queues.entry(stream).or_default()).push((operation.enqueued, index));
        }
    }
    let intervals = ran.into_iter().map(|operation| operation.interval);
    let (mut recording, placement) = Recording::placed(source, intervals.collect());
    let in_order = |mut queue: Vec<(u64, usize)>| {
        queue.sort_unstable();
        queue
            .into_iter()
            .map(|(_, index)| placement.places[index])
            .collect()
    };
    let queues = queues
        .into_iter()
        .map(|(stream, queue)| (stream, in_order(queue)));
    recording.dependencies = waits.dependencies(&recording, &queues.collect());
    (recording, placement)
}

fn by_events<R, E: From<Error>>(
    device: &Device,
    why: String,
    body: impl FnOnce() -> Result<R, E>,
) -> Result<(R, Recording), E> {
    let clock = Stream::non_blocking(device, "clock")?;
    let origin = Event::new(device, Timing::On)?;
    origin.record(&clock)?;
    origin.synchronize()?;
    let observing = Observing::start(RECORD_EVENTS);
    let result = body()?;
    drop(observing);
    device.synchronize()?;
    let mut notes = take_notes();
    let operations = std::mem::take(&mut notes.operations);
    let ran = operations
        .into_iter()
        .zip(0..)
        .map(|(operation, enqueued)| {
            Ok(Ran {
                stream: Some(operation.stream),
                enqueued,
                interval: interval(&origin, &notes, operation)?,
            })
        })
        .collect::<Result<_>>()?;
    let (recording, _) = recording(Source::Events(why), &notes.waits, ran);
    Ok((result, recording))
}

fn interval(origin: &Event, notes: &Notes, operation: Operation) -> Result<Interval> {
    let since_origin =
        |event: &Event| Ok::<_, Error>(event.elapsed_since(origin)?.as_nanos() as u64);
    let start = since_origin(&operation.begin)?;
    let span = Span {
        start,
        end: since_origin(&operation.end)?.max(start),
    };
    Ok(Interval {
        engine: operation.engine,
        name: operation.name,
        stream: notes.stream_name(operation.stream),
        span,
        bytes: operation.bytes,
    })
}
