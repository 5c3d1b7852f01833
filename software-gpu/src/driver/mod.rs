//! The semantics of the CUDA driver API: what each `cu*` call does, returns and costs.
//!
//! ```text
//! C ──> entry, boundary ──> call: the thread's turn ──> stream, event, copy, launch, … ──> simulator
//!                                                                                            │ engine
//!                                                    timeline: when    exec: what    memory: where
//! ```
//!
//! - The *entry points* are functions with the C ABI that check pointers (`abi`) and keep panics inside (`boundary`);
//!   `entry` is their table.
//! - A *call* (`call`) waits for the thread's turn (`host_threads`), costs it time (`costs`) and may wait for the
//!   device.
//! - What the call's name says happens in the module of its subject: `device`, `context`, `module`, `library`, `link`, `function`,
//!   `occupancy`, `cluster`, `launch_attributes`, `allocation`, `pools`, `pointer`, `stream`, `stream_values`,
//!   `event`, `copy`, `copy_box`, `peer`, `set`, `launch`, `host_function`. What all copies have in common is in `transfer`; what is left
//!   out, in `refused`.
//! - Work for the device becomes an `operation` of the `simulator`. Its `engine` joins the models: the
//!   [timeline](crate::timeline) says when an operation starts and ends, [`exec`](crate::exec) what a kernel
//!   computes, and `effects` lets the bytes in [memory](crate::memory) change at the modelled time.
//! - `ordering` tells the [checker](crate::order) all that and passes on what it finds.
//!
//! There is one lock for all devices. The C symbols are not exported from here: [`entry_point`] gives their addresses by
//! name.

mod c_abi;
mod checkers;
mod devices;
mod graph;
mod host;
mod launch;
mod memory;
mod modules;
mod simulation;
mod streams;

use crate::activity::Activity;

pub use c_abi::entry::{entry_point, entry_points};
pub use c_abi::errors::CudaError;
pub(crate) use checkers::ordering::host_accessed;
pub use devices::profile_choice::{ChoiceError, profile, use_profile};
pub(crate) use host::host_api::{
    host_counting_work, host_memory_work, host_now, host_threads, host_work,
};

/// What the last kernel that failed did wrong: kernel, block, thread, address and the nearest allocation.
pub fn last_fault() -> Option<String> {
    simulation::simulator::lock().last_fault.clone()
}

/// Why the last module that could not be loaded was refused.
pub fn last_refusal() -> Option<String> {
    simulation::simulator::lock().last_refusal.clone()
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
    host::host_threads::current::reset();
}
