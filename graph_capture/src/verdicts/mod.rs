//! Measurements, comparisons and claims of each part.

pub mod refused;
pub mod replay;
pub mod update;
