//! Placeholder.

pub mod ptx;
pub mod timeline;
