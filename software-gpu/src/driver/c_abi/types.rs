//! The types of `cuda.h` as C lays them out, as far as the entry points need them.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::errors::CudaError;

/// What every entry point returns: 0, or a [`CudaError`]'s code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct CUresult(pub u32);

impl CUresult {
    /// `CUDA_SUCCESS`.
    pub const SUCCESS: Self = Self(0);
}

impl From<Result<(), CudaError>> for CUresult {
    fn from(result: Result<(), CudaError>) -> Self {
        result.map_or_else(|error| Self(error.code()), |()| Self::SUCCESS)
    }
}

/// A device's ordinal number.
pub type CUdevice = c_int;
/// An address that the device understands.
pub type CUdeviceptr = u64;

/// Declares an opaque handle: a pointer in C, of which only the value matters.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(transparent)]
        pub struct $name(pub usize);

    )*};
}

handles! {
    /// A context.
    CUcontext;
    /// A loaded module.
    CUmodule;
    /// A kernel of a loaded module.
    CUfunction;
    /// A library: a module of no context.
    CUlibrary;
    /// A kernel of a library.
    CUkernel;
    /// A link under way.
    CUlinkState;
    /// A stream: one that was created, or [`CUstream::NULL`], [`CUstream::LEGACY`], [`CUstream::PER_THREAD`].
    CUstream;
    /// An event.
    CUevent;
    /// A memory pool.
    CUmemoryPool;
    /// A graph: nodes and their dependencies.
    CUgraph;
    /// A node of a graph.
    CUgraphNode;
    /// An executable graph.
    CUgraphExec;
    /// A CUDA array.
    CUarray;
}

impl CUcontext {
    /// No context.
    pub const NULL: Self = Self(0);

    /// Whether this is the null context.
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }
}

impl CUstream {
    /// The default stream, whichever of the two the entry point means.
    pub const NULL: Self = Self(0);
    /// `CU_STREAM_LEGACY`: the context's default stream, which synchronises with blocking streams.
    pub const LEGACY: Self = Self(1);
    /// `CU_STREAM_PER_THREAD`: the calling thread's own default stream.
    pub const PER_THREAD: Self = Self(2);
}

/// A pointer through which an entry point returns one value.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Writes the result.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a null pointer.
    pub(in crate::driver) fn set(self, value: T) -> Result<(), CudaError> {
        if self.0.is_null() {
            return Err(CudaError::InvalidValue);
        }
        // SAFETY: a caller of an entry point passes null or room for one value; entry points are unsafe to call.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Writes the result if the caller wants it.
    pub(in crate::driver) fn set_if_wanted(self, value: T) {
        // Null means that the caller does not want it.
        let _ = self.set(value);
    }

    /// Refuses a null pointer before anything happens.
    pub(in crate::driver) fn required(self) -> Result<Self, CudaError> {
        if self.0.is_null() {
            Err(CudaError::InvalidValue)
        } else {
            Ok(self)
        }
    }
}

/// `CUhostFn`.
pub type HostFunction = unsafe extern "C" fn(*mut c_void);
/// `CUstreamCallback`.
pub type StreamCallback = unsafe extern "C" fn(CUstream, CUresult, *mut c_void);
/// `CUoccupancyB2DSize`: dynamic shared memory for a block of that many threads.
pub type BlockSizeToSharedBytes = unsafe extern "C" fn(c_int) -> usize;

/// `CUuuid`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUuuid {
    /// The identifier.
    pub bytes: [c_char; 16],
}

/// `CUlaunchConfig`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUlaunchConfig {
    /// Blocks of the grid.
    pub grid: [c_uint; 3],
    /// Threads of a block.
    pub block: [c_uint; 3],
    /// Dynamic shared memory of a block.
    pub shared_bytes: c_uint,
    /// The stream.
    pub stream: CUstream,
    /// Attributes.
    pub attributes: *const CUlaunchAttribute,
    /// How many.
    pub attribute_count: c_uint,
}

/// `CUlaunchAttribute`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CUlaunchAttribute {
    /// Which attribute.
    pub id: c_uint,
    /// Unused.
    pub padding: [u8; 4],
    /// Its value: a union of 64 bytes in C.
    pub value: [u64; 8],
}
