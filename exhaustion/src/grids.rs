//! grids: how many grids may be resident?
//!
//! Kernels of one small block leave room for thousands of their kind. But a device keeps track of 128 grids at most
//! (*Maximum number of resident grids per device* in the programming guide). With more streams than this, some wait:
//!
//! ```text
//! 128 streams   |KKKKKKKK        |      129 streams   |KKKKKKKK        | x 128
//!                                                     |        KKKKKKKK| x 1
//! ```
//!
//! So the time makes a step from 128 to 129. A time that grew a little with each stream, or a step at another number,
//! would prove this wrong.

use anyhow::Result;
use cuda_host::prelude::*;

kernels! { pub struct Kernels; use gpu_kernels::hold; }

/// The kernel, and a number that it stores for each stream.
pub struct Blocks {
    pub kernels: Kernels,
    pub stored: DeviceBuffer<u32>,
}

impl Blocks {
    pub fn new(streams: usize) -> Result<Self> {
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let stored = DeviceBuffer::zeroed(streams)?;
        Ok(Self { kernels, stored })
    }

    /// A kernel of one block in each stream, which holds its place for `ns` nanoseconds.
    pub fn launch(&self, ns: u64, streams: &[Stream]) -> Result<()> {
        for (index, stream) in streams.iter().enumerate() {
            let mut stored = self.stored.index(index..index + 1);
            // SAFETY: the block has its element, and the buffer outlives the run.
            unsafe { launch!(self.kernels.hold<<<1, 32, 0, stream>>>(ns, &mut stored))? };
        }
        Ok(())
    }
}
