//! The driver's side of the checkers: it reports the program's calls to the ordering checker, tracks written memory, and reports the findings inside
//! kernels.

pub(super) mod gone_memory;
pub(super) mod kernel_reports;
pub(super) mod ordering;
pub(super) mod source_lines;
pub(super) mod written_memory;
