//! What is measured, compared and claimed of each part.

pub mod declarations;
pub mod loops;
pub mod pipeline;
