//! The driver's side of the checkers: what the ordering checker is told, which memory counts as written, and what was
//! seen inside kernels, in words.

pub(super) mod kernel_reports;
pub(super) mod ordering;
pub(super) mod written_memory;
