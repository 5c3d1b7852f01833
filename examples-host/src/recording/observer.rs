//! The observer of the driver's calls: it counts the work of all of them, and notes what they do while something is
//! recorded.

use super::mode::{CALL_TIMES, MODE, ObserverMode, mode_of};
use super::notes::{self, NotedCall};
use super::{between_events, engine, now, start_gate, trace};
use crate::call_times;
use crate::held;
use crate::intervals::Span;
use crate::profiler_names::name_stream;
use crate::tally::{self, WorkAmount};
use libcuda::observe::{self, Action, Call, Copied, Observer, StreamHandle};
use std::cell::Cell;
use std::sync::atomic::Ordering;

/// Shows the observer every call from now on. The driver is selected.
pub(crate) fn install() {
    observe::start(&Recorder);
}

struct Recorder;

thread_local! {
    /// When the call under way began.
    static BEGUN: Cell<Option<u64>> = const { Cell::new(None) };
}

impl Observer for Recorder {
    #[inline]
    fn before(&self, call: &Call) {
        start_gate::before(call);
        let bits = MODE.load(Ordering::Relaxed);
        match mode_of(bits) {
            ObserverMode::Off => {}
            ObserverMode::Records => BEGUN.set(now()),
            ObserverMode::Events => between_events::begin(&call.action),
        }
        if bits & CALL_TIMES != 0 {
            call_times::begin();
        }
    }

    #[inline]
    fn after(&self, call: &Call, succeeded: bool) {
        let bits = MODE.load(Ordering::Relaxed);
        if bits & CALL_TIMES != 0 {
            call_times::end(call);
        }
        start_gate::after();
        if succeeded {
            tally::add(work(&call.action));
            held::count(call);
            match call.action {
                Action::GetFunction { function, name } => {
                    between_events::kernel_found(function, name);
                }
                Action::CreateStream {
                    stream,
                    flags,
                    priority,
                } => {
                    trace::stream_created(stream, flags, priority);
                }
                Action::CreateEvent { event, flags } => trace::event_created(event, flags),
                _ => {}
            }
        }
        if mode_of(bits) != ObserverMode::Off {
            noted(call, succeeded);
        }
    }

    fn named(&self, stream: StreamHandle, name: &str) {
        name_stream(stream.0 as cust::sys::CUstream, name);
    }
}

/// The work that a call enqueues.
#[inline]
fn work(action: &Action) -> WorkAmount {
    let none = WorkAmount::default();
    match *action {
        Action::Copy { way, bytes, .. } => match way {
            Copied::HostToDevice => WorkAmount {
                bytes_in: bytes,
                ..none
            },
            Copied::DeviceToHost => WorkAmount {
                bytes_out: bytes,
                ..none
            },
            Copied::DeviceToDevice | Copied::Unified => none,
        },
        Action::Launch {
            blocks, threads, ..
        } => WorkAmount {
            launches: 1,
            threads: product(blocks).saturating_mul(product(threads)),
            ..none
        },
        _ => none,
    }
}

fn product(extents: [u32; 3]) -> u64 {
    extents
        .into_iter()
        .map(u64::from)
        .fold(1, u64::saturating_mul)
}

#[cold]
fn noted(call: &Call, succeeded: bool) {
    let begun = BEGUN.take();
    if !succeeded {
        between_events::abandon();
        return;
    }
    let mut operation = None;
    let stream = match call.action {
        Action::CreateEvent { event, .. } => {
            notes::notes().waits.event_created(event);
            None
        }
        Action::RecordEvent { event, stream } => {
            let place = notes::place(stream);
            notes::notes().waits.event_recorded(place, event);
            Some(place)
        }
        Action::WaitEvent { stream, event } => {
            let place = notes::place(stream);
            notes::notes().waits.waited(place, event);
            Some(place)
        }
        Action::DestroyStream { stream } => {
            notes::notes().destroyed(stream);
            None
        }
        Action::Synchronize {
            stream: Some(stream),
            ..
        }
        | Action::Allocate {
            stream: Some(stream),
            ..
        }
        | Action::Free {
            stream: Some(stream),
        } => Some(notes::place(stream)),
        _ => call.action.enqueues_in().map(|stream| {
            let place = notes::place(stream);
            operation = Some(notes::notes().enqueued(place, engine::of(&call.action)));
            between_events::end(&call.action, place);
            place
        }),
    };
    let span = begun.zip(now()).map(|(start, end)| Span { start, end });
    let step = trace::step(call, stream, span);
    let mut notes = notes::notes();
    if let Some(span) = span {
        notes.calls.push(NotedCall {
            name: call.name,
            thread: step.thread_name.clone(),
            span,
            stream,
            operation,
        });
    }
    notes.steps.push(step);
}
