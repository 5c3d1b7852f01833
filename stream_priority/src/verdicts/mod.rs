//! Measurements, comparisons and claims of each part. The program of block-length is that of urgent.

pub mod block_length;
pub mod copies;
mod latencies;
mod load;
mod pass;
pub mod urgent;
