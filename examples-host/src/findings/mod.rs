//! What the intervals of a recording say.

pub mod before;
pub mod beside;
pub mod bubble;
pub mod chain;
pub mod communication;
pub mod exposed;
pub mod gaps;
pub mod host_waits;
pub mod idle;
pub mod stretch;
