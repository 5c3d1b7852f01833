//! What is measured, compared and claimed of each part.

pub mod residency;
pub mod steps;
