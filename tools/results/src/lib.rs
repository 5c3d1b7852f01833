//! What a run of an example leaves behind, as a file: written by the examples' `--json`, read by the tools that compare, judge or draw runs. It knows
//! nothing of CUDA.
//!
//! - [`results`]: the file, its version, how it is read; [`part`]: what it says of each part.
//! - [`label`]: ids and the texts that people read.
//! - [`description`]: what an example says of itself without running.
//! - [`lab`]: what a lab leaves behind for its grade.
//! - [`device`]: on what the run took place; [`workload`]: what it had to do, as a hash.
//! - [`intervals`]: what ran when, and what can be said of it; [`statistics`], [`units`].
//! - [`new_file`]: files that are whole or not there; [`versioned`]: files that say the version of their form.

pub mod description;
pub mod device;
pub mod intervals;
pub mod lab;
pub mod label;
pub mod new_file;
pub mod part;
pub mod results;
pub mod statistics;
pub mod units;
pub mod versioned;
pub mod workload;

pub use results::{ReadError, Results, VERSION};
