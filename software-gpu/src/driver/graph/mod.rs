//! Graphs: work that is described once and launched often.
//!
//! - `graph` and `node` hold a graph as data; `add` and `topology` are the calls that build it and ask about it, with
//!   `actions` between the parameters of `cuda.h` (`params`) and what a node does.
//! - `create` instantiates: an `executable` is the graph flattened into steps, cut into `branches` that run in streams
//!   of their own.
//! - `node_params` and `update` change what nodes of graphs and of executable graphs do; `generic` is the one call
//!   for nodes of every type.
//! - `launch` submits the steps to the timeline, with the graph's edges as dependencies.
//! - `memory` is what allocation nodes allocate, for which `memory_nodes` has the calls.
//! - `dot` writes a graph down for a program that draws it.
//! - `capture` turns the work given to a stream into nodes.

mod actions;
mod add;
mod arrays;
mod branches;
mod capture;
mod create;
mod dot;
mod executable;
mod generic;
#[allow(clippy::module_inception, reason = "the module of its subject")]
mod graph;
mod launch;
mod memory;
mod memory_nodes;
mod node;
mod node_params;
mod params;
mod topology;
mod update;

pub(super) use add::*;
pub(super) use capture::*;
pub(super) use create::*;
pub(super) use dot::*;
pub(super) use generic::*;
pub(super) use graph::Graphs;
pub(super) use launch::*;
pub(super) use memory_nodes::*;
pub(super) use node_params::*;
pub(super) use topology::*;
pub(super) use update::*;
