//! Measurements, comparisons and claims of each part.

pub mod declarations;
pub mod loops;
pub mod pipeline;
