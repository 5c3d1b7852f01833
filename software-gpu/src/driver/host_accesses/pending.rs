//! Where in host memory operations are pending that no host thread has waited for: what lies outside races with none of them.
//!
//! Instrumented programs ask for each of their loads and stores. So the answer costs two loads and no lock, and is about one range of
//! addresses with all of these operations in it.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::order::OperationEpoch;

/// Where the addresses of device memory begin; those of a process are lower.
const DEVICE: u64 = 1 << 48;

static LOWEST: AtomicU64 = AtomicU64::new(u64::MAX);
static HIGHEST: AtomicU64 = AtomicU64::new(0);

/// Whether an operation that no host thread has waited for may access these bytes of host memory.
pub(crate) fn may_race(range: &Range<u64>) -> bool {
    LOWEST.load(Ordering::Relaxed) < range.end && range.start < HIGHEST.load(Ordering::Relaxed)
}

/// The pending operations on host memory.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// The latest of each stream.
    steps: Vec<OperationEpoch>,
}

impl Pending {
    /// The operation accesses these bytes, of host memory or of a device.
    pub(super) fn add(&mut self, step: OperationEpoch, range: &Range<u64>) {
        if range.start >= DEVICE || range.is_empty() {
            return;
        }
        LOWEST.fetch_min(range.start, Ordering::Relaxed);
        HIGHEST.fetch_max(range.end, Ordering::Relaxed);
        self.steps.retain(|earlier| !step.follows(*earlier));
        self.steps.push(step);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The host has waited for these operations.
    pub(super) fn forget_if(&mut self, is_over: impl Fn(OperationEpoch) -> bool) {
        self.steps.retain(|step| !is_over(*step));
        if self.steps.is_empty() {
            LOWEST.store(u64::MAX, Ordering::Relaxed);
            HIGHEST.store(0, Ordering::Relaxed);
        }
    }
}
