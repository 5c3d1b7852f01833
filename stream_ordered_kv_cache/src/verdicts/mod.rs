//! Measurements, comparisons and claims of each part.

pub mod append;
pub mod growth;
mod model;
mod outputs;
mod pages;
pub mod prefetch;
mod size;
