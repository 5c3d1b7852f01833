//! Arrays on the device that each run finds as the run before found them.

use anyhow::Result;
use cust::memory::CopyDestination as _;
use cust::prelude::*;
use cust::sys::CUdeviceptr;
use std::rc::Rc;

/// An array of 32-bit words, and what it held in the beginning.
pub struct Array {
    pub original: Vec<u32>,
    words: DeviceBuffer<u32>,
    kept: DeviceBuffer<u32>,
}

impl Array {
    pub fn new(original: Vec<u32>) -> Result<Rc<Self>> {
        let kept = DeviceBuffer::from_slice(&original)?;
        Ok(Rc::new(Self {
            words: DeviceBuffer::from_slice(&original)?,
            kept,
            original,
        }))
    }

    /// Numbers between 0 and 1 that repeat only after millions, times `scale`: kernels may run faster on zeros.
    pub fn numbers(count: usize, scale: f32) -> Result<Rc<Self>> {
        let number = |i: u32| (i.wrapping_mul(0x9e37_79b1) >> 8) as f32 / (1 << 24) as f32;
        Self::new(
            (0..count as u32)
                .map(|i| (number(i) * scale).to_bits())
                .collect(),
        )
    }

    /// Words that no kernel leaves behind (NaNs, as floats).
    pub fn unwritten(count: usize) -> Result<Rc<Self>> {
        Self::new(vec![u32::MAX; count])
    }

    pub fn address(&self) -> CUdeviceptr {
        self.words.as_device_ptr().as_raw()
    }

    /// Makes the contents what they were, for work that is enqueued from now on in any stream.
    pub fn reset(&self) -> Result<()> {
        let bytes = self.original.len() * size_of::<u32>();
        // SAFETY: both buffers have this many bytes, and no kernel is running.
        let code = unsafe {
            cust::sys::cuMemcpyDtoD_v2(self.address(), self.kept.as_device_ptr().as_raw(), bytes)
        };
        anyhow::ensure!(
            code == cust::sys::cudaError_enum::CUDA_SUCCESS,
            "cuMemcpyDtoD gave {code:?}"
        );
        Ok(cust::context::CurrentContext::synchronize()?)
    }

    pub fn contents(&self) -> Result<Vec<u32>> {
        let mut contents = vec![0; self.original.len()];
        self.words.copy_to(&mut contents)?;
        Ok(contents)
    }
}
