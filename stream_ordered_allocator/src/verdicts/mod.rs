//! What is measured, compared and claimed of each part.

pub mod cost;
pub mod lifetime;
pub mod llm_scratch;
pub mod pool;
