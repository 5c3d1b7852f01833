//! Recording when each operation of a run was executing.
//!
//! [`record`] runs a body once more under observation, apart from the timed runs, and gives the intervals of what it
//! enqueued. Where they come from depends on the device and on what is installed; see [`Source`]. Every enqueue of this crate
//! passes through [`operation`], which costs one relaxed load when nothing is being recorded.

use crate::device::Device;
use crate::error::{Error, Result};
use crate::event::{Event, Timing};
use crate::intervals::{Engine, Interval, Recording, Source, Span};
use crate::stream::Stream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static ACTIVE: AtomicBool = AtomicBool::new(false);
static OPERATIONS: Mutex<Vec<Operation>> = Mutex::new(Vec::new());

/// An operation enqueued while recording.
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
    if !ACTIVE.load(Ordering::Relaxed) {
        return enqueue();
    }
    let device = stream.device();
    let (begin, end) = (
        Event::new(device, Timing::On)?,
        Event::new(device, Timing::On)?,
    );
    begin.record(stream)?;
    enqueue()?;
    end.record(stream)?;
    let operation = Operation {
        engine,
        name: name.to_owned(),
        stream: stream.clone(),
        bytes: bytes as u64,
        begin,
        end,
    };
    operations().push(operation);
    Ok(())
}

fn operations() -> MutexGuard<'static, Vec<Operation>> {
    OPERATIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stops the recording on every way out.
struct Active;

impl Active {
    fn start() -> Self {
        operations().clear();
        ACTIVE.store(true, Ordering::Relaxed);
        Self
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        ACTIVE.store(false, Ordering::Relaxed);
    }
}

/// Runs `body` and records when its operations were executing. Returns when all of them have finished.
pub fn record<E: From<Error>>(
    device: &Device,
    body: impl FnOnce() -> Result<(), E>,
) -> Result<Recording, E> {
    let origin = Event::new(device, Timing::On)?;
    let clock = Stream::non_blocking(device, "clock")?;
    device.synchronize()?;
    origin.record(&clock)?;
    origin.synchronize()?;
    let active = Active::start();
    body()?;
    drop(active);
    device.synchronize()?;
    let intervals = operations()
        .drain(..)
        .map(|operation| interval(&origin, operation))
        .collect::<Result<_>>()?;
    Ok(Recording::new(Source::Events, intervals))
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
