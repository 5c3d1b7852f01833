//! Recording when each operation of a run was executing.
//!
//! [`record`] runs a body under observation, apart from the timed runs, and gives the intervals of
//! what it enqueued. Where they come from depends on the device and on what is installed; see
//! [`Source`]. Every enqueue of this crate passes through here, which costs one relaxed
//! load when nothing is being recorded.

use crate::cupti;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::event::{Event, Timing};
use crate::intervals::{Engine, Interval, Recording, Source, Span};
use crate::software_log;
use crate::stream::{Kind, Stream};
use libcuda::Driver;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What every enqueue does besides: nothing, note its stream, or record events around itself.
static MODE: AtomicU8 = AtomicU8::new(OFF);
const OFF: u8 = 0;
const NOTE_STREAMS: u8 = 1;
const RECORD_EVENTS: u8 = 2;

static NOTES: Mutex<Notes> = Mutex::new(Notes {
    streams: Vec::new(),
    operations: Vec::new(),
});

/// What enqueues left behind while recording.
struct Notes {
    /// Streams used, with the numbers that the device's own records have for them.
    streams: Vec<(u64, Stream)>,
    /// Operations with events around them.
    operations: Vec<Operation>,
}

struct Operation {
    engine: Engine,
    name: String,
    stream: Stream,
    bytes: u64,
    begin: Event,
    end: Event,
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
        NOTE_STREAMS => {
            note_stream(stream)?;
            enqueue()
        }
        _ => between_events(stream, engine, name, bytes, enqueue),
    }
}

// The notes are never locked across a driver call: on the modelled host such a call may wait for
// another thread's.

#[cold]
fn note_stream(stream: &Stream) -> Result<()> {
    if let Some(id) = record_id(stream)? {
        let mut notes = notes();
        if notes.streams.iter().all(|(known, _)| *known != id) {
            notes.streams.push((id, stream.clone()));
        }
    }
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
    let device = stream.device();
    let (begin, end) = (
        Event::new(device, Timing::On)?,
        Event::new(device, Timing::On)?,
    );
    begin.record(stream)?;
    enqueue()?;
    end.record(stream)?;
    let (name, stream, bytes) = (name.to_owned(), stream.clone(), bytes as u64);
    notes().operations.push(Operation {
        engine,
        name,
        stream,
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
        *notes() = Notes {
            streams: Vec::new(),
            operations: Vec::new(),
        };
        MODE.store(mode, Ordering::Relaxed);
        Self
    }
}

impl Drop for Observing {
    fn drop(&mut self) {
        MODE.store(OFF, Ordering::Relaxed);
    }
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
    device.synchronize()?;
    if is_free(device) {
        software_log::start();
        return by_records(device, Source::SoftwareGpu, body, software_log::stop);
    }
    match cupti::cupti()
        .map_err(str::to_owned)
        .and_then(|cupti| cupti.start().map(|()| cupti))
    {
        Ok(cupti) => by_records(device, Source::Cupti, body, || cupti.stop()),
        Err(why) => by_events(device, why, body),
    }
}

/// What the device's own records say of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) engine: Engine,
    pub(crate) name: String,
    pub(crate) stream: u64,
    pub(crate) span: Span,
    pub(crate) bytes: u64,
}

fn by_records<E: From<Error>>(
    device: &Device,
    source: Source,
    body: impl FnOnce() -> Result<(), E>,
    take: impl FnOnce() -> Vec<Record>,
) -> Result<Recording, E> {
    let observing = Observing::start(NOTE_STREAMS);
    let done = body();
    drop(observing);
    let idle = device.synchronize();
    // Taken on every way out, so that the device stops recording.
    let records = take();
    done?;
    idle?;
    let notes = notes();
    let name_of = |id: u64| {
        let noted = notes.streams.iter().find(|(known, _)| *known == id);
        noted.map_or_else(
            || format!("stream {id}"),
            |(_, stream)| stream.name().to_owned(),
        )
    };
    let intervals = records.into_iter().map(|record| Interval {
        engine: record.engine,
        stream: name_of(record.stream),
        name: record.name,
        span: record.span,
        bytes: record.bytes,
    });
    Ok(Recording::new(source, intervals.collect()))
}

fn by_events<E: From<Error>>(
    device: &Device,
    why: String,
    body: impl FnOnce() -> Result<(), E>,
) -> Result<Recording, E> {
    let clock = Stream::non_blocking(device, "clock")?;
    let origin = Event::new(device, Timing::On)?;
    origin.record(&clock)?;
    origin.synchronize()?;
    let observing = Observing::start(RECORD_EVENTS);
    body()?;
    drop(observing);
    device.synchronize()?;
    let operations = std::mem::take(&mut notes().operations);
    let intervals = operations
        .into_iter()
        .map(|operation| interval(&origin, operation))
        .collect::<Result<_>>()?;
    Ok(Recording::new(Source::Events(why), intervals))
}

fn interval(origin: &Event, operation: Operation) -> Result<Interval> {
    let Operation {
        engine,
        name,
        stream,
        bytes,
        begin,
        end,
    } = operation;
    let since_origin =
        |event: &Event| Ok::<_, Error>(event.elapsed_since(origin)?.as_nanos() as u64);
    let start = since_origin(&begin)?;
    let span = Span {
        start,
        end: since_origin(&end)?.max(start),
    };
    Ok(Interval {
        engine,
        name,
        stream: stream.name().to_owned(),
        span,
        bytes,
    })
}
