//! The rules of the ordering checker, one test each.

mod callers;
mod graphs;
mod hosts;
mod learned;
mod legacy;
mod lifetimes;
mod overlaps;
mod program;
mod properties;
mod robustness;
mod streams;
