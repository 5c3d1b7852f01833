//! What the program has created and not yet released: streams, device memory and page-locked memory.
//!
//! The observer of the driver's calls counts creations and destructions, of all threads. Events are not counted: it does not see
//! `cuEventDestroy`.

use libcuda::observe::{Action, Call};
use std::sync::atomic::{AtomicI64, Ordering};

/// Numbers of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldResources {
    /// Streams (`cuStreamCreate`, `cuStreamDestroy`).
    pub streams: i64,
    /// Allocations of device memory, of pools too (`cuMemAlloc`, `cuMemAllocAsync`, `cuMemFree`, `cuMemFreeAsync`).
    pub device_memory: i64,
    /// Allocations of page-locked memory and registered memory (`cuMemAllocHost`, `cuMemHostRegister`).
    pub page_locked: i64,
}

static STREAMS: AtomicI64 = AtomicI64::new(0);
static DEVICE_MEMORY: AtomicI64 = AtomicI64::new(0);
static PAGE_LOCKED: AtomicI64 = AtomicI64::new(0);

/// What is held now.
pub fn now() -> HeldResources {
    let [streams, device_memory, page_locked] =
        [&STREAMS, &DEVICE_MEMORY, &PAGE_LOCKED].map(|count| count.load(Ordering::Relaxed));
    HeldResources {
        streams,
        device_memory,
        page_locked,
    }
}

/// Counts a call that has succeeded.
#[inline]
pub(crate) fn count(call: &Call) {
    let (counter, by) = match call.action {
        Action::CreateStream { .. } => (&STREAMS, 1),
        Action::DestroyStream { .. } => (&STREAMS, -1),
        Action::Allocate { .. } => (memory(call.name), 1),
        Action::Free { .. } => (memory(call.name), -1),
        _ => return,
    };
    counter.fetch_add(by, Ordering::Relaxed);
}

/// The counter of the memory that a function allocates or frees.
fn memory(name: &str) -> &'static AtomicI64 {
    match name.contains("Host") {
        true => &PAGE_LOCKED,
        false => &DEVICE_MEMORY,
    }
}
