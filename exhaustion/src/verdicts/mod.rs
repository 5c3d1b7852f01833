//! What is measured, compared and claimed of each part.

pub mod grids;
pub mod occupancy;
pub mod requests;
