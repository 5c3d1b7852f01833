//! Measurements, comparisons and claims of the part.

pub mod images;
mod patches;
