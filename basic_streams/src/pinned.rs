//! pinned: what is page-locked host memory good for?
//!
//! The device's copy engines read and write host memory by physical address, so its pages must not move. The driver
//! copies pageable memory through a page-locked buffer of its own, piece by piece, which blocks the host. For
//! memory that is page-locked already the call only starts the copy engine, and returns:
//!
//! ```text
//! pageable     call   |copy copy copy copy copy copy copy |
//!              engine |     copy copy copy copy copy copy copy|
//! page-locked  call   |.|
//!              engine | copycopycopy|
//! ```
//!
//! Memory locked afterwards (`cuMemHostRegister`) is as good as memory allocated page-locked. Locked pages are taken from
//! everything else that runs, so they can run out: then the driver says so, and nothing else is lost. A pageable copy
//! whose call returns at once, or a page-locked one whose call does not, would prove this wrong.

use cuda_host::{host_memory::Registered, prelude::*};

/// The same number of elements in each kind of host memory.
pub struct HostMemory {
    pub pageable: Vec<u32>,
    pub page_locked: LockedBuffer<u32>,
    pub registered: Registered<u32>,
}

impl HostMemory {
    pub fn new(len: usize) -> CudaResult<Self> {
        Ok(Self {
            pageable: vec![0; len],
            page_locked: LockedBuffer::new(&0, len)?,
            registered: Registered::new(vec![0; len])?,
        })
    }
}

/// One call, whatever the kind of memory.
pub fn copy_in(host: &[u32], device: &DeviceBuffer<u32>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: both memories outlive the copy.
    unsafe { device.index(..host.len()).async_copy_from(host, stream) }
}

pub fn copy_out(host: &mut [u32], device: &DeviceBuffer<u32>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: both memories outlive the copy, and the host waits for it before it reads.
    unsafe { device.index(..host.len()).async_copy_to(host, stream) }
}

/// More than any machine has. A host of 32 bits cannot count that far: it requests half of its address space.
pub fn pebibyte() -> CudaResult<LockedBuffer<u8>> {
    let bytes = usize::try_from(1_u64 << 50).unwrap_or(usize::MAX / 2);
    // SAFETY: bytes may have any value.
    unsafe { LockedBuffer::uninitialized(bytes) }
}
