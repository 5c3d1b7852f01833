//! Placeholder.

pub mod ptx;
