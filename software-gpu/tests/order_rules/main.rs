//! The rules of the ordering checker, one test each.

mod graphs;
mod hosts;
mod legacy;
mod lifetimes;
mod program;
mod robustness;
mod streams;
