//! Measurements, comparisons and claims of each part.

pub mod circular_wait;
pub mod granularity;
pub mod over_synchronisation;
mod sums;
pub mod synchronisation;
pub mod ways;
