//! Measurements, comparisons and claims of each part.

pub mod connections;
pub mod cpu_overlap;
pub mod default_stream;
mod gate;
pub mod issue_order;
mod jobs;
pub mod kernels;
pub mod pinned;
pub mod three_way;
