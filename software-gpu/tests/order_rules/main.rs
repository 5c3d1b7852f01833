//! The rules of the ordering checker, one test each.

mod program;
mod streams;
