//! Measurements, comparisons and claims of each part.

pub mod in_flight;
mod known;
pub mod stages;
