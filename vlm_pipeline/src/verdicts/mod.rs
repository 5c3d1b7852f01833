//! What is measured, compared and claimed of the part.

pub mod images;
mod patches;
