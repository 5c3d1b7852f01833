//! The model of time, without driver and kernels.

#[path = "../timeline_support/mod.rs"]
mod timeline_support;

mod figures;
mod laws;
mod properties;
