//! What is measured, compared and claimed of each part.

mod matrices;
pub mod size;
pub mod streams;
pub mod tiles;
