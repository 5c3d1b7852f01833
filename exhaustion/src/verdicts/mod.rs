//! Measurements, comparisons and claims of each part.

pub mod grids;
pub mod occupancy;
pub mod requests;
