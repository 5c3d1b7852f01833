//! cust's handles: it keeps them to itself, and makes no object from one.

use cust::event::Event;
use cust::stream::Stream;
use cust::sys::{CUevent, CUstream};

// Each type is a structure of one field, the handle: equal sizes mean equal bytes.
const _: () = assert!(size_of::<Stream>() == size_of::<CUstream>());
const _: () = assert!(size_of::<Event>() == size_of::<CUevent>());

/// A cust stream of this handle, which it destroys when it is dropped.
///
/// # Safety
/// The handle is a stream's, and nothing else destroys it.
pub(crate) unsafe fn into_stream(raw: CUstream) -> Stream {
    // SAFETY: the caller's promise; the structure is its handle.
    unsafe { std::mem::transmute::<CUstream, Stream>(raw) }
}

/// The event's handle.
pub(crate) fn of_event(event: &Event) -> CUevent {
    // SAFETY: the structure is its handle, which is copied.
    unsafe { std::ptr::from_ref(event).cast::<CUevent>().read() }
}
