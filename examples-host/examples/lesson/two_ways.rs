//! two-ways: do both directions of the link work at once?
//!
//! Some data is copied to the device, and other data from the device:
//!
//! ```text
//! one stream  |HHHHHHHHDDDDDDDD        two streams  |HHHHHHHH
//!                                                   |DDDDDDDD
//! ```
//!
//! One stream takes the sum of both copies, two streams little more than one of them. Copies in two streams that take
//! turns, or copies in one stream that do not, would prove this wrong.

use cuda_host::prelude::*;

/// Page-locked memory, and device memory, for each direction.
pub struct CopiesBothWays {
    pub input: LockedBuffer<f32>,
    pub output: LockedBuffer<f32>,
    arriving: DeviceBuffer<f32>,
    leaving: DeviceBuffer<f32>,
}

impl CopiesBothWays {
    pub fn new(data: &[f32]) -> CudaResult<Self> {
        let input = LockedBuffer::from_slice(data)?;
        let output = LockedBuffer::new(&0.0, data.len())?;
        let arriving = DeviceBuffer::zeroed(data.len())?;
        let leaving = DeviceBuffer::from_slice(data)?;
        Ok(Self { input, output, arriving, leaving })
    }

    /// One copy after the other.
    pub fn one_stream(&mut self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: all memory lives until the host has waited, and no two copies share any.
        unsafe {
            self.arriving.async_copy_from(&self.input, stream)?;
            self.leaving.async_copy_to(&mut self.output, stream)
        }
    }

    /// A stream for each direction.
    pub fn two_streams(&mut self, copy_in: &Stream, copy_out: &Stream) -> CudaResult<()> {
        // SAFETY: as above.
        unsafe {
            self.arriving.async_copy_from(&self.input, copy_in)?;
            self.leaving.async_copy_to(&mut self.output, copy_out)
        }
    }
}
