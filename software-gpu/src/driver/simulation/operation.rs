//! Submitted operations that have not ended.

use std::ffi::c_void;
use std::sync::Arc;

use crate::call_site::CallSite;
use crate::driver::c_abi::types::{
    CUcontext, CUevent, CUresult, CUstream, HostFunction, StreamCallback,
};
use crate::driver::launch::kernel::Launch;
use crate::driver::memory::boxes::Rows;
use crate::driver::memory::managed::Prefetch;
use crate::driver::memory::pools::StreamOrdered;
use crate::driver::streams::memory_values::{Value, ValueWait};
use crate::memory::{Accesses, ByteRanges, is_device_address};
use crate::timeline::{CopyKind, OperationStage, Time};

/// An operation between its submission and its end.
pub(in crate::driver) struct Operation {
    pub(in crate::driver) context: CUcontext,
    /// The stream's own handle: programs have another for a default stream.
    pub(in crate::driver) stream: CUstream,
    pub(in crate::driver) correlation: u64,
    pub(in crate::driver) started: Time,
    /// The call site, when the checkers are on.
    pub(in crate::driver) call_site: Option<Arc<CallSite>>,
    pub(in crate::driver) effect: Effect,
}

/// What an operation does besides taking time.
pub(in crate::driver) enum Effect {
    Kernel(Box<Launch>),
    Copy(Copy),
    Set(Set),
    HostFunction(Callback),
    Record(CUevent),
    Wait,
    /// The beginning or the end of a graph's launch.
    Mark,
    /// The beginning of a launch that brings what has changed in the graph.
    Upload,
    /// `cuMemAllocAsync`.
    Allocate(StreamOrdered),
    /// `cuMemFreeAsync`.
    Free(StreamOrdered),
    /// `cuStreamWaitValue32`, `cuStreamWaitValue64`.
    WaitValue(ValueWait),
    /// `cuStreamWriteValue32`, `cuStreamWriteValue64`.
    WriteValue(Value),
    /// `cuMemPrefetchAsync`.
    Prefetch(Prefetch),
    /// `cuStreamAttachMemAsync`.
    Attach,
}

/// A copy of rows of bytes.
#[derive(Clone, Debug)]
pub(in crate::driver) struct Copy {
    pub(in crate::driver) kind: CopyKind,
    pub(in crate::driver) from: Side,
    /// The other side, of the same extent.
    pub(in crate::driver) to: Side,
    /// The host side is not page-locked.
    pub(in crate::driver) pageable: bool,
    /// The call has taken the source's bytes when it returns, whatever is still on its way then.
    pub(in crate::driver) taken: bool,
    /// The source's bytes without what is between its rows, when they had to be taken before the copy lands.
    pub(in crate::driver) staged: Option<Vec<u8>>,
    /// The node of a graph that makes the copy.
    pub(in crate::driver) node: Option<NodeOrigin>,
}

/// Where a node of a graph comes from.
#[derive(Clone, Debug)]
pub(in crate::driver) struct NodeOrigin {
    /// The call site, when the checkers are on.
    pub(in crate::driver) call_site: Option<Arc<CallSite>>,
}

/// One side of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Side {
    /// Where the first byte is.
    pub(in crate::driver) place: Place,
    pub(in crate::driver) rows: Rows,
}

/// A memset: rows filled with repetitions of a pattern.
#[derive(Clone, Debug)]
pub(in crate::driver) struct Set {
    pub(in crate::driver) to: Place,
    pub(in crate::driver) rows: Rows,
    pub(in crate::driver) pattern: MemsetPattern,
}

impl Side {
    /// The addresses of the bytes.
    fn ranges(self) -> ByteRanges {
        match self.place {
            Place::Mapped(base) => self.rows.ranges(base),
            Place::Pageable(base) => self.rows.ranges(base as u64),
        }
    }
}

impl Copy {
    /// How many bytes are copied.
    pub(in crate::driver) fn bytes(&self) -> usize {
        self.from.rows.bytes().unwrap_or(0)
    }

    /// In how many contiguous pieces they are.
    fn pieces(&self) -> usize {
        match self.from.rows.is_packed() && self.to.rows.is_packed() {
            true => 1,
            false => self.from.rows.extent.rows(),
        }
    }

    /// What the copy touches after its call has returned. Whether an asynchronous call has staged its source by then is up to
    /// the driver.
    pub(in crate::driver) fn accesses(&self) -> Accesses {
        let reads = match self.taken {
            true => ByteRanges::new(),
            false => self.from.ranges(),
        };
        Accesses {
            reads,
            writes: self.to.ranges(),
            ..Accesses::default()
        }
    }
}

impl Set {
    /// What the memset writes of device memory and of page-locked host memory.
    pub(in crate::driver) fn accesses(&self) -> Accesses {
        let (place, rows) = (self.to, self.rows);
        Accesses {
            writes: Side { place, rows }.ranges(),
            ..Accesses::default()
        }
    }
}

/// 1, 2 or 4 bytes.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) struct MemsetPattern {
    pub(in crate::driver) bytes: [u8; 4],
    pub(in crate::driver) len: usize,
}

/// The kind of memory at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Place {
    /// An address in the address space: device memory or page-locked host memory.
    Mapped(u64),
    /// The program's own pageable memory.
    Pageable(usize),
}

/// A host function or a stream callback.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) struct Callback {
    pub(in crate::driver) function: CallbackFunction,
    pub(in crate::driver) data: *mut c_void,
}

/// The two kinds of functions that a stream can call on the host.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) enum CallbackFunction {
    /// `cuLaunchHostFunc`.
    Host(HostFunction),
    /// `cuStreamAddCallback`: also called when the context has failed, and told so.
    Stream(StreamCallback, CUstream),
}

// SAFETY: the data pointer is the program's, which passed it to be used by its function on another thread.
unsafe impl Send for Callback {}

impl Callback {
    /// Calls the function.
    ///
    /// # Safety
    /// The program's function is called with the program's data, at its turn in the stream.
    pub(in crate::driver) unsafe fn call(self, status: CUresult) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.function {
                CallbackFunction::Host(function) => function(self.data),
                CallbackFunction::Stream(function, stream) => function(stream, status, self.data),
            }
        }
    }
}

impl Effect {
    /// Whether the host can notice its end without a call. The kernel is unknown here.
    pub(in crate::driver) fn is_noticeable(&self) -> bool {
        let of_host = |place: Place| match place {
            Place::Mapped(address) => !is_device_address(address),
            Place::Pageable(_) => true,
        };
        match self {
            Self::HostFunction(_) => true,
            Self::Copy(copy) => of_host(copy.to.place),
            Self::Set(set) => of_host(set.to),
            Self::WriteValue(value) => !is_device_address(value.address),
            _ => false,
        }
    }

    /// Whether it leaves an [`Activity`](crate::activity::Activity) behind.
    pub(in crate::driver) fn is_recorded(&self) -> bool {
        matches!(
            self,
            Self::Kernel(_)
                | Self::Copy(_)
                | Self::Set(_)
                | Self::HostFunction(_)
                | Self::Prefetch(Prefetch { bytes: 1.., .. })
        )
    }

    /// What the timeline has to simulate.
    pub(in crate::driver) fn work(&self) -> OperationStage {
        match self {
            Self::Kernel(launch) => launch.work(),
            Self::Copy(copy) => OperationStage::Copy {
                kind: copy.kind,
                bytes: copy.bytes() as u64,
                rows: copy.pieces() as u64,
                pageable: copy.pageable,
            },
            Self::Set(set) => OperationStage::Set {
                bytes: set.rows.bytes().unwrap_or(0) as u64,
            },
            Self::HostFunction(_) => OperationStage::HostFunction,
            Self::WaitValue(_) => OperationStage::ValueWait,
            Self::Prefetch(Prefetch {
                kind,
                bytes: bytes @ 1..,
            }) => OperationStage::Copy {
                kind: *kind,
                bytes: *bytes,
                rows: 1,
                pageable: false,
            },
            Self::Record(_)
            | Self::Wait
            | Self::Mark
            | Self::WriteValue(_)
            | Self::Prefetch(_)
            | Self::Attach => OperationStage::Marker,
            Self::Upload => OperationStage::Upload,
            Self::Allocate(_) | Self::Free(_) => OperationStage::Note,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy() -> Copy {
        let rows = Rows::rectangle(4, 2, 16);
        Copy {
            kind: CopyKind::DeviceToDevice,
            from: Side {
                place: Place::Mapped(1000),
                rows: rows.packed(),
            },
            to: Side {
                place: Place::Mapped(2000),
                rows,
            },
            pageable: false,
            taken: false,
            staged: None,
            node: None,
        }
    }

    #[test]
    fn a_copy_touches_its_rows_alone() {
        let Accesses { reads, writes, .. } = copy().accesses();
        assert_eq!(reads, ByteRanges::from(1000..1008));
        assert_eq!(writes.iter().collect::<Vec<_>>(), [2000..2004, 2016..2020]);
        assert_eq!(copy().bytes(), 8);
    }

    #[test]
    fn what_the_call_has_taken_is_not_read_any_more() {
        let taken = Copy {
            taken: true,
            ..copy()
        };
        assert!(taken.accesses().reads.is_empty() && !taken.accesses().writes.is_empty());
        let mut pageable = copy();
        pageable.to.place = Place::Pageable(3000);
        let writes = pageable.accesses().writes;
        assert_eq!(writes.iter().collect::<Vec<_>>(), [3000..3004, 3016..3020]);
    }

    #[test]
    fn a_memset_writes_its_rows() {
        let set = Set {
            to: Place::Mapped(100),
            rows: Rows::rectangle(2, 2, 8),
            pattern: MemsetPattern::from(0_u8),
        };
        let writes = set.accesses().writes;
        assert_eq!(writes.iter().collect::<Vec<_>>(), [100..102, 108..110]);
    }
}
