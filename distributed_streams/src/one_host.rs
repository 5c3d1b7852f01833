//! one-host: do the GPUs of one host share their links?
//!
//! Each GPU is on a link to the host. Whether two of them copy as fast together as alone depends on the machine: their links
//! may meet in a switch before they reach the host's memory. Links between GPUs are others still. Nothing but trying tells.
//!
//! ```text
//! in turn   GPU 0 |HHHHHHHH        |        at once   GPU 0 |HHHHHHHH|   own links
//!           GPU 1 |        HHHHHHHH|                  GPU 1 |HHHHHHHH|
//!
//!                                           at once   GPU 0 |HHHHHHHHHHHHHHHH|   one link for both
//!                                                     GPU 1 |HHHHHHHHHHHHHHHH|
//! ```
//!
//! Copies to all GPUs at once that do not overlap, that together are slower than one, or faster than each GPU's rate times the
//! number of GPUs, would prove this wrong.

use crate::gpus;
use anyhow::Result;
use cuda_host::{peer, prelude::*};
use cust::context::Context;

/// Buffers of one size on the host and on every GPU.
pub struct Copies {
    pub contexts: Vec<Context>,
    /// By GPU, page-locked.
    pub host: Vec<LockedBuffer<u32>>,
    pub data: Vec<DeviceBuffer<u32>>,
    /// Where the neighbour's copies arrive.
    pub arrived: Vec<DeviceBuffer<u32>>,
    copied: Vec<Event>,
}

impl Copies {
    pub fn new(elements: usize) -> Result<Self> {
        let contexts = gpus::open_all()?; // cuDevicePrimaryCtxRetain(…), cuCtxEnablePeerAccess(…)
        let host = gpus::on_each(&contexts, |_| Ok(LockedBuffer::new(&0, elements)?))?;
        let data = gpus::on_each(&contexts, |_| Ok(DeviceBuffer::zeroed(elements)?))?;
        let arrived = gpus::on_each(&contexts, |_| Ok(DeviceBuffer::zeroed(elements)?))?;
        let copied = gpus::events(&contexts)?; // cuEventCreate(…)
        Ok(Self { contexts, host, data, arrived, copied })
    }

    /// Each copy waits for that of the GPU before.
    pub fn in_turn(&mut self, streams: &[Stream]) -> CudaResult<()> {
        // SAFETY: both memories outlive the copy.
        unsafe { self.data[0].async_copy_from(&self.host[0], &streams[0])? };
        self.copied[0].record(&streams[0])?;
        for (gpu, stream) in streams.iter().enumerate().skip(1) {
            stream.wait(&self.copied[gpu - 1])?;
            // SAFETY: the same.
            unsafe { self.data[gpu].async_copy_from(&self.host[gpu], stream)? };
            self.copied[gpu].record(stream)?;
        }
        Ok(())
    }

    /// No copy waits for another.
    pub fn at_once(&mut self, streams: &[Stream]) -> CudaResult<()> {
        for (gpu, stream) in streams.iter().enumerate() {
            // SAFETY: as above.
            unsafe { self.data[gpu].async_copy_from(&self.host[gpu], stream)? };
        }
        Ok(())
    }

    /// The same to the host.
    pub fn out_at_once(&mut self, streams: &[Stream]) -> CudaResult<()> {
        for (gpu, stream) in streams.iter().enumerate() {
            // SAFETY: as above; the host reads behind the copy.
            unsafe { self.data[gpu].async_copy_to(&mut self.host[gpu], stream)? };
        }
        Ok(())
    }

    /// From each of these GPUs to the next.
    pub fn over_at_once(&mut self, streams: &[Stream]) -> CudaResult<()> {
        for (gpu, stream) in streams.iter().enumerate() {
            let next = (gpu + 1) % self.contexts.len();
            let to = (&mut *self.arrived[next], &self.contexts[next]);
            let from = (&*self.data[gpu], &self.contexts[gpu]);
            // SAFETY: both buffers outlive the copy, and nothing else uses them.
            unsafe { peer::copy_async(to, from, stream)? }; // cuMemcpyPeerAsync(…)
        }
        Ok(())
    }
}
