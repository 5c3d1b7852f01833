//! Device memory and page-locked host memory: one address space, as under CUDA's unified virtual addressing.
//!
//! - [`AddressSpace`] says which [`Allocation`] an address belongs to and where its bytes are.
//! - [`WriteHold`] keeps what a running kernel overwrites, so that its stores can become visible when its modelled
//!   end comes, not when it happens to be executed.
//! - [`HeldWrites`] are those stores, waiting to land, and what the kernel has changed by atomic operations.
//! - [`Accesses`] are the bytes that an operation touched, as [`ByteRanges`].
//!
//! Addresses of device memory are numbers that no host pointer can have; a host that follows one faults at once
//! instead of reading something else. They are given out in rising order and never twice, so that the same program
//! sees the same addresses in every run and a stale address is never valid again.

mod address_space;
mod allocation;
mod atomic_changes;
mod byte_map;
mod byte_ranges;
mod byte_set;
#[cfg(target_os = "linux")]
mod double_mapping;
mod freed;
mod held_atomics;
mod held_writes;
mod parts;
mod write_hold;
mod written;

pub use address_space::is_device_address;
pub use address_space::{AddressSpace, OutOfMemory, RegisterError};
pub use allocation::{Allocation, AllocationKind};
pub use atomic_changes::{AtomicChange, update_cell, without_atomics};
pub(crate) use byte_map::ByteMap;
pub use byte_ranges::{Accesses, ByteRanges};
pub(crate) use byte_set::ByteSet;
#[cfg(target_os = "linux")]
pub use double_mapping::separate;
pub use held_writes::HeldWrites;
pub use parts::PoolAllocation;
pub use write_hold::WriteHold;

/// The unit in which a [`WriteHold`] keeps old bytes.
pub const PAGE: usize = 4096;
