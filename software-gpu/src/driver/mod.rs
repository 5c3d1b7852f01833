//! The semantics of the CUDA driver API: what each `cu*` call does, returns and costs.
//!
//! A call passes three layers. The *entry point* (`entry`, `boundary`) is a function with the C ABI that checks
//! pointers and keeps panics inside. The *call* does what its name says on the state of the device: contexts, modules, streams, events and memory.
//! Work for the device goes to the *simulator*, which joins the three models: [`timeline`](crate::timeline) says when an operation starts and
//! ends, [`exec`](crate::exec) what a kernel computes, [`memory`](crate::memory) where the bytes are.
//!
//! The C symbols are not exported from here: [`entry_point`] gives their addresses by name.

mod abi;
mod boundary;
mod entry;
mod errors;
mod version;

pub use entry::{entry_point, entry_points};
pub use errors::CudaError;
