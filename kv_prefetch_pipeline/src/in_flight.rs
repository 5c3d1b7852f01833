//! in-flight: how many pages are really on their way?
//!
//! A ring of stages proves nothing by itself: a producer that waits for each page before it asks for the next has one on its way,
//! however many stages there are. So the first block looks at the multiprocessor's clock: the thread that fetches, when it issues a
//! page's copies; and a witness, a thread that does nothing else, when the page has come.
//!
//! ```text
//! page 0  |I------C                |    I: issued   C: come
//! page 1  | I------C               |
//! page 2  |          I------C      |    2 stages: page 2 is issued when page 0 has been used
//! page 3  |           I------C     |
//! ```
//!
//! A page is on its way from its issue to its arrival. At every issue the pages are counted that are on their way, that one
//! included. Two stages with never more than one page on its way, or more pages than stages, would prove this wrong.

use crate::stages::Attention;
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use gpu_kernels::{KV_STAGE_BYTES, KV_THREADS};

impl Attention {
    /// Attention with so many stages. Returns for each page the time at which it was issued, and behind all of them for each page the
    /// time at which it had arrived.
    pub fn stamped(&mut self, stages: u32, stream: &Stream) -> CudaResult<Vec<u64>> {
        let (kernel, shared) = (&self.kernels.attention_prefetched, stages * KV_STAGE_BYTES);
        let mut stamps = DeviceBuffer::from_slice(&vec![0u64; 2 * self.pages as usize])?;
        CurrentContext::synchronize()?; // a non-blocking stream does not wait for that copy, which is of the legacy stream
        // SAFETY: the stamps have two places for each page, and the host waits before they are freed.
        unsafe {
            launch!(kernel<<<self.grid, KV_THREADS, shared, stream>>>(&self.table, self.pages, &self.queries, &mut self.output, self.scale, stages, &mut stamps))?;
        }
        stream.synchronize()?;
        stamps.as_host_vec()
    }
}
