//! What is measured, compared and claimed of each part.

pub mod pinned;
pub mod three_way;
