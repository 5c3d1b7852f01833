//! What an allocation gave, behind a free.

use cuda_host::prelude::*;
use cust::error::CudaError;
use cust::memory::{DeviceCopy, DevicePointer};
use std::fmt;

/// What an allocation gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// The memory that was freed before.
    Freed,
    /// Other memory.
    Other,
    /// None: the pool is full.
    Nothing,
    /// The driver does not limit pools: none is ever full.
    NeverFull,
}

impl Given {
    /// What an allocation gave, after memory at this address had been freed. It is freed again, in `stream`.
    ///
    /// # Errors
    /// Errors from the allocation (except out of memory) and from the free.
    pub fn by<T: DeviceCopy>(
        allocated: CudaResult<DeviceBuffer<T>>,
        freed: DevicePointer<T>,
        stream: &Stream,
    ) -> CudaResult<Self> {
        let memory = match allocated {
            Err(CudaError::OutOfMemory) => return Ok(Self::Nothing),
            allocated => allocated?,
        };
        let given = Self::at(memory.as_device_ptr(), freed);
        memory.drop_async(stream)?;
        Ok(given)
    }

    /// What an allocation gave that begins at `address`, after memory at `freed` had been freed.
    pub fn at<T: DeviceCopy>(address: DevicePointer<T>, freed: DevicePointer<T>) -> Self {
        if address.as_raw() == freed.as_raw() { Self::Freed } else { Self::Other }
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Freed => "the freed memory",
            Self::Other => "other memory",
            Self::Nothing => "out of memory",
            Self::NeverFull => "(no limited pools)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use examples_host::prelude::Device;
    use libcuda::Choice;

    #[test]
    fn what_an_allocation_gave_is_known_by_its_address() {
        let (freed, other) = (DevicePointer::<u8>::from_raw(512), Given::Other);
        let _device = Device::open(Choice::Software).unwrap();
        let [stream] = cuda_host::stream::non_blocking_named(["s"]).unwrap();
        // SAFETY: the memory is not used.
        let allocated = || unsafe { DeviceBuffer::<u8>::uninitialized_async(1, &stream) };
        assert_eq!(Given::by(allocated(), freed, &stream), Ok(other));
        let nothing = Err(CudaError::OutOfMemory);
        assert_eq!(Given::by(nothing, freed, &stream), Ok(Given::Nothing));
        assert!(Given::by(Err(CudaError::InvalidValue), freed, &stream).is_err());
    }
}
