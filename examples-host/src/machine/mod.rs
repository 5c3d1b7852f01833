//! The device and its host: capabilities, clocks and names.

pub mod answer;
pub mod capability;
pub(crate) mod contexts;
pub(crate) mod cpu_time;
pub mod device;
pub mod error;
pub(crate) mod fingerprint;
#[cfg(all(windows, target_env = "gnu"))]
mod fused;
pub mod host_clock;
pub(crate) mod library;
pub(crate) mod nvml;
pub(crate) mod profiler_names;
pub mod range;
pub mod threads;
