//! What the observer notes while something is recorded: which streams are used, who waits for whom, which call enqueued
//! what.

use super::dependencies::Noted;
use super::timing_event::TimingEvent;
use super::trace::{self, StreamKind, TracedCall};
use super::{cupti, software_log};
use crate::contexts;
use crate::intervals::{Engine, Range, Span};
use cust::sys;
use libcuda::Driver;
use libcuda::observe::{StreamHandle, name_of_stream};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

static NOTES: Mutex<Notes> = Mutex::new(Notes::new());

/// The notes. They are never locked across a driver call: on the modelled host such a call may wait for another thread's.
pub(super) fn notes() -> MutexGuard<'static, Notes> {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the notes so far, and forgets them.
pub(super) fn take() -> Notes {
    std::mem::replace(&mut *notes(), Notes::new())
}

#[derive(Debug)]
pub(super) struct Notes {
    streams: Vec<Used>,
    /// The waits between streams, by places in `streams`.
    pub(super) waits: Noted,
    /// Phases of host threads, on the clock of the device's records.
    pub(super) phases: Vec<Range>,
    /// Calls of the driver, on the same clock.
    pub(super) calls: Vec<NotedCall>,
    /// Operations with events around them.
    pub(super) operations: Vec<NotedOperation>,
    /// The calls that succeeded, as a trace has them.
    pub(super) steps: Vec<TracedCall>,
}

/// A stream that was used, as a trace records it.
#[derive(Clone, Debug)]
pub(crate) struct NotedStream {
    /// The name in recordings.
    pub(crate) name: String,
    /// How it came to be.
    pub(crate) kind: StreamKind,
}

/// An operation, and the events around it.
#[derive(Debug)]
pub(super) struct NotedOperation {
    pub(super) engine: Engine,
    pub(super) name: String,
    pub(super) stream: usize,
    pub(super) bytes: u64,
    pub(super) context: Option<usize>,
    pub(super) begin: TimingEvent,
    pub(super) end: TimingEvent,
}

/// A call of the driver.
#[derive(Debug)]
pub(super) struct NotedCall {
    pub(super) name: &'static str,
    pub(super) thread: String,
    pub(super) span: Span,
    /// The stream's place, if the call names one.
    pub(super) stream: Option<usize>,
    /// The number in its stream of the operation that it enqueued.
    pub(super) operation: Option<usize>,
}

/// A stream that was used.
#[derive(Debug)]
struct Used {
    /// Its handle, as long as that means this stream; with the thread where the handle is `CU_STREAM_PER_THREAD`.
    handle: Option<Key>,
    /// The number that the device's own records have for it.
    record_id: Option<u64>,
    name: String,
    kind: StreamKind,
}

type Key = (StreamHandle, Option<ThreadId>);

impl Notes {
    const fn new() -> Self {
        Self {
            streams: Vec::new(),
            waits: Noted::new(),
            phases: Vec::new(),
            calls: Vec::new(),
            operations: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// The streams that were used so far, by their places.
    pub(super) fn streams(&self) -> Vec<NotedStream> {
        let noted = |used: &Used| NotedStream {
            name: used.name.clone(),
            kind: used.kind,
        };
        self.streams.iter().map(noted).collect()
    }

    pub(super) fn stream_name(&self, place: usize) -> &str {
        &self.streams[place].name
    }

    /// The place of the stream that has this number in the device's records.
    pub(super) fn place_of_record(&self, id: u64) -> Option<usize> {
        let known = |used: &Used| used.record_id == Some(id);
        self.streams.iter().position(known)
    }

    /// The handle may mean another stream from now on.
    pub(super) fn destroyed(&mut self, stream: StreamHandle) {
        let gone = |used: &&mut Used| used.handle == Some(key(stream));
        if let Some(used) = self.streams.iter_mut().find(gone) {
            used.handle = None;
        }
    }

    pub(super) fn enqueued(&mut self, place: usize, engine: Option<Engine>) -> usize {
        self.waits.enqueued(place, engine)
    }
}

fn key(stream: StreamHandle) -> Key {
    let own = stream == StreamHandle::PER_THREAD;
    (stream, own.then(|| thread::current().id()))
}

/// The stream's place in the notes.
#[cold]
pub(super) fn place(stream: StreamHandle) -> usize {
    let key = key(stream);
    let known = notes()
        .streams
        .iter()
        .position(|used| used.handle == Some(key));
    if let Some(place) = known {
        return place;
    }
    let record_id = record_id(stream);
    let name = name_of_stream(stream)
        .or_else(|| record_id.map(|id| format!("stream {id}")))
        .unwrap_or_else(|| format!("stream {:#x}", stream.0));
    let mut notes = notes();
    // Two handles may mean one stream: null and CU_STREAM_LEGACY do.
    let same = record_id.and_then(|id| notes.place_of_record(id));
    same.unwrap_or_else(|| {
        notes.streams.push(Used {
            handle: Some(key),
            record_id,
            name,
            kind: trace::kind(stream),
        });
        notes.streams.len() - 1
    })
}

/// The number that the device's own records have for a stream.
fn record_id(stream: StreamHandle) -> Option<u64> {
    if libcuda::selected()?.driver == Driver::Software {
        return software_log::stream_id(stream);
    }
    let context = contexts::of_stream(stream.0 as sys::CUstream)?;
    let (raw, per_thread) = match stream {
        StreamHandle::LEGACY => (ptr::null_mut(), false),
        StreamHandle::PER_THREAD => (ptr::null_mut(), true),
        StreamHandle(raw) => (raw as sys::CUstream, false),
    };
    cupti::cupti().ok()?.stream_id(context, raw, per_thread)
}
