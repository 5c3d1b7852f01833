//! Executes PTX on the host's cores.
//!
//! A kernel is lowered once, when its module is loaded, and then executed warp by warp:
//!
//! - `lower` turns a parsed function into basic blocks of *operations*: a function pointer and the places of its
//!   operands (`op`). An operation computes all 32 lanes of a warp in a loop that the compiler vectorises (`warp_handlers`), so
//!   that the cost of interpreting is shared by 32 threads.
//! - Registers of a warp are rows of 32 cells (`lane`); predicates are 32-bit masks. Values that never change in a
//!   thread (parameters, special registers, literals) are rows filled once.
//! - `warp` runs basic blocks and schedules diverged threads so that they meet again where structured code does;
//!   `block` lets warps take turns and meet at barriers; `group` lets the blocks of a cluster or of a cooperative grid
//!   take turns; `grid` spreads blocks over host threads.
//! - `memory` serves loads, stores and atomics of whole warps: one bounds check where 32 lanes are side by side.
//!   Every access is checked; what goes wrong becomes a [`Fault`] that names kernel, thread, line and address.
//! - `watch` sees what a kernel really touches, when the checkers are on.
//! - `cost` counts what a model of time needs to know, block by block.
//!
//! Results and costs are the same on every machine and for any number of host threads.

mod arithmetic;
mod async_copy;
mod block;
mod bytes_in_flight;
mod cluster;
mod context;
mod cost;
mod fault;
mod grid;
mod group;
mod lane;
mod latencies;
mod lower;
mod matrix;
mod matrix_descriptor;
mod mbarrier;
mod memory;
mod op;
mod phases;
mod polling;
mod program;
mod special_registers;
mod tensor_core;
pub mod tensor_map;
mod thread_states;
mod touched;
mod warp;
mod warp_handlers;
mod warpgroup;
mod watch;

pub use cost::{BlockCost, Class, Coupling, GridCost};
pub use fault::{Access, Fault, FaultLocation, Nearest};
pub use grid::{Grid, execute, execute_checked};
pub use latencies::Latencies;
pub use lower::{GRID_WORKSPACE, GRID_WORKSPACE_BYTES, HEAP, HEAP_BYTES, uses_grid_workspace};
pub use program::{Executable, ExecutableKernel};
pub use touched::{Touch, Touched};
pub use watch::{
    AbsentSource, Dependent, DivergentBarrier, LostUpdate, Missing, NeverWritten, Observed,
    SharedRace,
};
