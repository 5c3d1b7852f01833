//! Events. cust's [`Event`] records, queries, synchronises and measures; [`StreamExt::wait`](crate::StreamExt::wait) waits for
//! one by reference. Only the handle is missing.

use crate::handle;
use cust::event::Event;
use cust::sys::CUevent;

/// The event functions that cust lacks.
pub trait EventExt {
    /// The driver's handle.
    fn raw(&self) -> CUevent;
}

impl EventExt for Event {
    fn raw(&self) -> CUevent {
        handle::of_event(self)
    }
}
