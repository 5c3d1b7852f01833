//! What the examples compute on, and the check of every element: the loops that go through all data, in a package that is
//! optimised where the rest of `examples-host` need not be.
//!
//! - [`data`], [`few_values`], [`periodic`]: what buffers are filled with, and what the CPU expects of it
//! - [`check`], [`distance`]: every element against its reference

pub mod check;
pub mod data;
pub mod distance;
pub mod few_values;
pub mod periodic;
mod uncached;
