//! The driver's side of the checkers: it tells the ordering checker what the program does, keeps track of written memory,
//! and reports what was seen inside kernels.

pub(super) mod gone_memory;
pub(super) mod kernel_reports;
pub(super) mod ordering;
pub(super) mod source_lines;
pub(super) mod written_memory;
