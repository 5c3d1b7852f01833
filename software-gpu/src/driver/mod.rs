//! The semantics of the CUDA driver API: what each `cu*` call does, returns and costs.
//!
//! ```text
//! program ──> c_abi ──> host: the thread's turn ──> devices, modules, memory, streams, launch, graph ──> simulation
//!                                                                                                            │
//!                                                                     timeline: when    exec: what    memory: where
//! ```
//!
//! | folder | what lives there |
//! |---|---|
//! | `c_abi` | the types of `cuda.h`, handles, error codes, and the table of entry points |
//! | `host_accesses` | the program's own loads and stores of page-locked memory |
//! | `host` | the host's threads and their virtual clocks, and what each call costs them |
//! | `devices` | devices, contexts, and the choice of the profile |
//! | `modules` | modules, libraries, the linker, functions |
//! | `memory` | allocations, pools, copies, memsets, access between devices |
//! | `streams` | streams, events, waits for values, host functions |
//! | `launch` | kernel launches, clusters, occupancy |
//! | `graph` | graphs and stream capture |
//! | `simulation` | the state of all devices, and the loop that moves it forward |
//! | `checkers` | tells the checkers what happens, and turns their findings into reports |
//! | `reasons` | why a call failed, in a sentence |
//!
//! A call of the driver takes this way: its entry point checks the pointers that it is given and lets no panic out
//! (`c_abi`); `host::call` waits for the thread's turn and charges the call's cost; the module of its
//! subject does what the call's name says. Work for the device becomes an `operation` of the simulation. The
//! [timeline](crate::timeline) says when it starts and ends, [`exec`](crate::exec) what a kernel computes, and `effects`
//! changes the bytes in [memory](crate::memory) at the modelled time. `checkers::ordering` tells the
//! [checker](crate::order) about all of it and passes on what it finds.
//!
//! There is one lock for all devices. The C symbols are not exported from here: [`entry_point`] gives their addresses by
//! name.

mod c_abi;
mod checkers;
mod devices;
mod environment;
mod graph;
mod host;
mod host_accesses;
mod launch;
mod memory;
mod modules;
mod reasons;
mod simulation;
mod streams;
mod textures;

use crate::activity::Activity;

pub use c_abi::errors::CudaError;
pub use c_abi::symbols::{entry_point, entry_points};
#[cfg(target_family = "wasm")]
pub use c_abi::{forward::Export, symbols::export};
pub(crate) use checkers::ordering::{host_accessed, host_acquired, name_stream};
pub use devices::count::use_count;
pub use devices::profile_choice::{ChoiceError, profile, use_profile};
pub use environment::{Misconfigured, configure};
pub(crate) use host::ended::own_thread;
pub(crate) use host::program::{
    host_counting_work, host_memory_work, host_now, host_threads, host_work,
};
pub(crate) use host_accesses::{may_race, system_call_accesses};
pub use simulation::finish::finish;

/// What the last kernel that failed did wrong: kernel, block, thread, address and the nearest allocation.
pub fn last_fault() -> Option<String> {
    simulation::simulator::lock().last_fault.clone()
}

/// Why the last module that could not be loaded was refused.
pub fn last_refusal() -> Option<String> {
    simulation::simulator::lock().last_refusal.clone()
}

/// The calling thread's number.
pub(crate) fn thread_serial() -> u64 {
    host::threads::current::serial()
}

/// Why the last call of this thread that failed did so, if that has a sentence: the call, its error code, what was wrong, and what
/// to do.
pub fn last_error() -> Option<String> {
    reasons::last()
}

/// Whether the sentence of a failed call is printed when the call returns, as it is by default. A program that expects some calls to
/// fail, and prints [`last_error`] where a failure ends it, switches that off.
pub fn print_errors(printed: bool) {
    reasons::print(printed);
}

pub(crate) fn start_activities() {
    simulation::simulator::lock().activities.start();
}

pub(crate) fn take_activities() -> Vec<Activity> {
    simulation::simulator::lock().activities.take()
}

/// Forgets all devices and whatever was created on them, and what the calling thread has of them, as if the process had
/// just begun. No other thread may be inside a call. Fuzzing begins each of its runs like that.
#[cfg(fuzzing)]
pub fn reset() {
    simulation::simulator::reset();
    host::threads::current::reset();
}
