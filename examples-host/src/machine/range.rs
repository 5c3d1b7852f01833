//! Phases of the program, as ranges of NVTX: what profilers show beside the device's work, and what recordings keep in [`Recording::ranges`](crate::intervals::Recording::ranges).
//!
//! Nsight Systems shows them when the feature `nvtx` is on. Without it profilers are not informed, and a range costs one relaxed load outside of
//! recordings.

use crate::profiler_names::thread_name;
use crate::recording;
use std::marker::PhantomData;

/// A phase of the calling thread, from [`range`] until it is dropped. The ranges of one thread nest.
#[derive(Debug)]
#[must_use = "the phase ends when this is dropped"]
pub struct Range {
    /// The name and when it began, while recording.
    begun: Option<(String, u64)>,
    #[cfg(feature = "nvtx")]
    _shown: nvtx::LocalRange,
    /// A phase ends on the thread on which it began.
    _of_thread: PhantomData<*const ()>,
}

/// Begins a phase: `let _range = range("copy in");`
///
/// A recording keeps the phases that begin and end while it is made, if the device's records have a clock that the host
/// can read: those of the software GPU and of CUPTI have.
#[inline]
pub fn range(name: &str) -> Range {
    Range {
        begun: recording::now().map(|now| (name.to_owned(), now)),
        #[cfg(feature = "nvtx")]
        _shown: nvtx::LocalRange::new(nvtx::Str::from_str_lossy(name)),
        _of_thread: PhantomData,
    }
}

impl Drop for Range {
    #[inline]
    fn drop(&mut self) {
        if let Some((name, start)) = self.begun.take() {
            recording::phase(name, thread_name(), start);
        }
    }
}
