//! What the lessons and their tools show on a terminal, and how they end. It knows recordings and errors, not CUDA.
//!
//! - [`output`]: standard output; [`style`], [`mod@wrap`], [`table`], [`gantt`]: what is printed there.
//! - [`exit`]: exit codes, and the error that means bad usage.

pub mod exit;
pub mod gantt;
pub mod output;
pub mod style;
pub mod table;
pub mod wrap;

pub use exit::{Exit, UsageError};
