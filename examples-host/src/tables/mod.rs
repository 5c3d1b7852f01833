//! Printing what was found.

pub mod by_size;
pub mod show;
