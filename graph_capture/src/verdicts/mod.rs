//! What is measured, compared and claimed of each part.

pub mod refused;
pub mod replay;
pub mod update;
