//! Measurements, comparisons and claims of each part.

pub mod two_ways;
