//! What is measured, compared and claimed of each part.

pub mod two_ways;
