//! CUDA's driver API on a computer without a GPU.
//!
//! The software GPU executes the same PTX that a GPU runs, on the CPU, and *models* the time that the GPU would take:
//! host calls, copy engines, multiprocessors and memory bandwidth have costs in a virtual clock, and effects become
//! visible in the modelled order. A program that forgets an event therefore computes with stale data here, and does
//! so in every run; and its timeline is the same, bit for bit, on every machine.
//!
//! - [`driver`] gives the `cu*` calls their semantics; [`driver::entry_point`] is the way in for C.
//! - [`ptx`] reads PTX, [`exec`] executes it, [`timeline`] models time, [`memory`] holds the bytes, [`texture`] reads them
//!   as texture units do.
//! - [`host`] is the modelled host thread for programs that want to say what their own work costs, and [`activity`]
//!   the log of what ran on the device.
//! - [`order`] finds races and memory that is used outside of its life.
//! - [`reports`] holds what the checkers have found; [`streams`] gives names to streams there.
//!
//! What takes a program's time is a package of its own, `software-gpu-device`: with the driver it would take much longer to
//! compile, for nothing.

pub mod activity;
mod call_site;
mod console;
pub mod driver;
pub mod host;
mod own_memory;
pub mod reports;
pub mod streams;

pub use call_site::{add_harness, add_wrapper, note as note_call_site, note_script_line};
pub use driver::{finish, last_error, last_fault, last_refusal, print_errors};
pub use software_gpu_device::{exec, memory, order, ptx, texture, timeline};
