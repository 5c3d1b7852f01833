//! What the observer of the calls does at present.

use super::notes;
use std::sync::atomic::{AtomicU8, Ordering};

/// What the observer does besides counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum ObserverMode {
    /// Nothing.
    Off,
    /// Notes; the device's own records say when operations ran.
    Records,
    /// Notes, and puts timing events around operations.
    Events,
}

pub(super) static MODE: AtomicU8 = AtomicU8::new(ObserverMode::Off as u8);

/// Set in [`MODE`] beside the mode while the allocator's calls are timed.
pub(super) const CALL_TIMES: u8 = 1 << 7;

#[inline]
pub(super) fn mode() -> ObserverMode {
    mode_of(MODE.load(Ordering::Relaxed))
}

#[inline]
pub(super) fn mode_of(bits: u8) -> ObserverMode {
    match bits & !CALL_TIMES {
        0 => ObserverMode::Off,
        1 => ObserverMode::Records,
        _ => ObserverMode::Events,
    }
}

/// The allocator's calls are timed until this is dropped.
pub(crate) struct TimingCalls;

/// Times the allocator's calls from now on; see [`crate::call_times`].
pub(crate) fn time_calls() -> TimingCalls {
    MODE.fetch_or(CALL_TIMES, Ordering::Relaxed);
    TimingCalls
}

impl Drop for TimingCalls {
    fn drop(&mut self) {
        MODE.fetch_and(!CALL_TIMES, Ordering::Relaxed);
    }
}

/// Notes are taken until this is dropped.
pub(super) struct Observing;

impl Observing {
    pub(super) fn start(mode: ObserverMode) -> Self {
        drop(notes::take());
        MODE.fetch_or(mode as u8, Ordering::Relaxed);
        Self
    }
}

impl Drop for Observing {
    fn drop(&mut self) {
        MODE.fetch_and(CALL_TIMES, Ordering::Relaxed);
    }
}
