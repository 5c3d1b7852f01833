//! What is measured, compared and claimed of each part.

pub mod queue;
pub mod residency;
pub mod steps;
