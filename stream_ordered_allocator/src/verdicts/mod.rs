//! Measurements, comparisons and claims of each part.

pub mod cost;
mod given;
pub mod lifetime;
pub mod llm_scratch;
pub mod pool;
