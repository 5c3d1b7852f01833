//! Measurements, comparisons and claims of each part. All of them run one program, with other loads, rings and threads.

pub mod depth;
pub mod jitter;
mod loader;
mod loading;
pub mod threads;
