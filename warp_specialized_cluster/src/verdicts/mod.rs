//! Measurements, comparisons and claims of each part.

mod matrices;
pub mod size;
pub mod streams;
pub mod tiles;
