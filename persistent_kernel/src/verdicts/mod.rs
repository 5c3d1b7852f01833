//! Measurements, comparisons and claims of each part.

pub mod queue;
pub mod residency;
pub mod steps;
