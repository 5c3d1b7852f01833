//! Timelines of runs: what they say, and how they are shown. It knows recordings, not CUDA.
//!
//! - [`analysis`]: what overlapped, where nothing ran, what ran one after the other and likely why.
//! - [`nsight`]: reads the exports of Nsight Systems.
//! - [`perfetto`], [`svg`]: the forms in which they are drawn.
//! - [`rows`], [`axis`], [`overlap`]: what the forms have in common.

pub mod analysis;
pub mod axis;
pub mod nsight;
pub mod overlap;
pub mod perfetto;
pub mod rows;
pub mod svg;
#[cfg(test)]
mod testing;

use chapter_results::intervals::Interval;
use chapter_results::units;
use std::time::Duration;

/// Bytes moved by an operation per second, as people read it; of a copy or memset that took time.
fn bytes_per_second(interval: &Interval) -> Option<String> {
    let nanoseconds = interval.span.nanoseconds();
    (interval.bytes > 0 && nanoseconds > 0)
        .then(|| units::bandwidth(interval.bytes, Duration::from_nanos(nanoseconds)))
}
