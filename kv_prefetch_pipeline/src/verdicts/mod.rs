//! What is measured, compared and claimed of each part.

pub mod in_flight;
mod known;
pub mod stages;
