//! What is measured, compared and claimed of each part.

pub mod halo;
pub mod one_host;
pub mod pipeline;
