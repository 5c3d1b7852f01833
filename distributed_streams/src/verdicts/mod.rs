//! Measurements, comparisons and claims of each part.

pub mod halo;
pub mod one_host;
pub mod pipeline;
