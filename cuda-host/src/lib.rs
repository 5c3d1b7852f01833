//! What cust 0.3.2 lacks of the driver API, or gets wrong, under the driver's names.
//!
//! A program uses cust's own types wherever cust is right: [`Stream`](cust::stream::Stream), [`Event`](cust::event::Event),
//! `DeviceBuffer`, `LockedBuffer`, `Module`. This crate makes the streams that cust cannot make and adds the operations
//! that it does not have. Each function is one call of the driver, which its documentation names; like cust's, it returns
//! the driver's code. Nothing here measures anything.
//!
//! - [`stream`]: non-blocking streams, priorities, the default streams' handles; [`StreamExt`]: `wait` for an event by
//!   reference, host functions, queries, names
//! - [`event`]: handles of events; cust's `Event` does the rest
//! - [`mod@kernel`]: kernels with checked signatures, [`kernels!`] and [`launch!`]
//! - [`pool`]: memory pools, and stream-ordered allocation from one of one's own
//! - [`host_function`]: memory that a function works on which a stream calls
//! - [`host_memory`]: page-locking memory that the program already has
//! - [`mapped`]: page-locked memory that a kernel uses while it runs
//! - [`capture`]: capturing streams into graphs
//! - [`peer`]: copies between devices
//! - [`tensor_map`]: how a tensor lies in memory, for copies of boxes of it
//! - [`launch_attributes`]: launches with attributes, such as thread-block clusters
//! - [`panics`]: where a kernel has panicked
//!
//! cust's `Stream::new` removes `NON_BLOCKING`, `Stream::wait_event` takes the event by value, and both types keep their
//! handles to themselves; that is what most of this is about.

pub mod capture;
pub mod event;
mod handle;
pub mod host_function;
pub mod host_memory;
pub mod kernel;
pub mod launch_attributes;
pub mod mapped;
pub mod panics;
pub mod peer;
pub mod pool;
mod result;
pub mod stream;
mod symbol;
pub mod tensor_map;

pub use event::EventExt;
pub use pool::MemoryPool;
pub use stream::StreamExt;

/// What most programs use: cust's streams, events and memory, and what this crate adds to them.
pub mod prelude {
    pub use crate::event::EventExt;
    pub use crate::pool::{MemoryPool, PoolStatistics, Reuse};
    pub use crate::stream::{self, StreamExt};
    pub use crate::{kernels, launch};
    pub use cust::error::CudaResult;
    pub use cust::event::{Event, EventFlags};
    pub use cust::memory::{
        AsyncCopyDestination, CopyDestination, DeviceBuffer, DeviceSlice, LockedBuffer,
    };
    pub use cust::stream::{Stream, StreamFlags};
}

/// The folder of this crate's sources, which stand between a program and its driver: for tools that show where a call was
/// made.
pub const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
