//! queue: can a kernel that is running take more work?
//!
//! The host writes requests into a ring in page-locked memory, and the kernel writes the answers into another. Each side counts in a
//! word that the other one polls:
//!
//! ```text
//! launches    host |w L.......w L.......w L|    w: writes requests and counts them   L: launches, and waits
//!             GPU  |    K         K        |    K: answers requests, and counts them
//! one kernel  host |w L.....w.....w.....w..|    a single launch; then the host polls the kernel's count
//!             GPU  |    K ppp Kppp Kppp K p|    p: polls the host's count
//! ```
//!
//! A count is stored with release and loaded with acquire, at the scope of the system (PTX `st.release.sys`, `ld.acquire.sys`): the
//! side that has seen the count sees what was written before it. An answer to an older request would prove this wrong.
//!
//! The limits: whatever waits for the device, such as `cuMemFree`, waits for this kernel. So it ends after `patience` polls that
//! found nothing new, and the host launches it again when it needs it. Each poll crosses the link. The software GPU runs
//! a kernel at its start: a kernel sees what the host has counted by then, and the next burst takes another launch.

use anyhow::Result;
use cuda_host::mapped::{SharedCount, device_pointer};
use cuda_host::prelude::*;

kernels! { use gpu_kernels::serve_queue; }

/// Elements of a request, one for each thread of the kernel's only block.
pub const THREADS: u32 = 256;
/// Slots of the ring, a power of two, and requests of a burst.
pub const SLOTS: u32 = 8;
pub const BURST: usize = (SLOTS * THREADS) as usize;

/// The ring in page-locked memory, and its two counts.
pub struct Queue {
    kernels: Kernels,
    requests: LockedBuffer<f32>,
    answers: LockedBuffer<f32>,
    published: SharedCount,
    answered: SharedCount,
    pub launches: u32,
}

impl Queue {
    pub fn new() -> Result<Self> {
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let requests = LockedBuffer::new(&0.0, BURST)?;
        let answers = LockedBuffer::new(&f32::NAN, BURST)?;
        let (published, answered) = (SharedCount::new()?, SharedCount::new()?);
        Ok(Self { kernels, requests, answers, published, answered, launches: 0 })
    }

    /// Before the first burst, while no kernel runs.
    pub fn empty(&mut self) {
        self.published.release(0);
        self.answered.release(0);
    }

    /// Writes a burst of requests, whose last one is number `end - 1`, and counts them.
    fn publish(&mut self, requests: &[f32], end: u32) {
        self.requests.copy_from_slice(requests);
        self.published.release(end); // after the requests
    }

    /// The kernel begins with request `first`. It ends behind `last - 1`, or after `patience` polls that found nothing.
    fn serve(&mut self, [first, last]: [u32; 2], patience: u32, stream: &Stream) -> CudaResult<()> {
        let requests = device_pointer(&mut self.requests)?; // cuMemHostGetDevicePointer
        let answers = device_pointer(&mut self.answers)?;
        let published = self.published.device_pointer()?;
        let answered = self.answered.device_pointer()?;
        self.launches += 1;
        // SAFETY: the queue outlives the kernel, for whose end the host waits.
        unsafe {
            launch!(self.kernels.serve_queue<<<1, THREADS, 0, stream>>>(requests, answers, published, answered, SLOTS, first, last, patience))
        }
    }

    /// Burst `burst` by a launch for it alone, and a wait for its end.
    pub fn launch(&mut self, burst: u32, requests: &[f32], stream: &Stream) -> CudaResult<&[f32]> {
        let (first, end) = (burst * SLOTS, (burst + 1) * SLOTS);
        self.publish(requests, end);
        self.serve([first, end], 1, stream)?;
        stream.synchronize()?;
        Ok(&self.answers)
    }

    /// Burst `burst` of `bursts` by the kernel that runs. If none does, or it loses patience, the host launches it.
    pub fn feed(
        &mut self,
        [burst, bursts]: [u32; 2],
        requests: &[f32],
        patience: u32,
        stream: &Stream,
    ) -> CudaResult<&[f32]> {
        let (first, end) = (burst * SLOTS, (burst + 1) * SLOTS);
        self.publish(requests, end);
        while self.answered.acquire() != end {
            // A kernel that has ended may have answered just before.
            if stream.is_idle()? && self.answered.acquire() != end {
                self.serve([first, bursts * SLOTS], patience, stream)?;
            }
        }
        Ok(&self.answers)
    }
}
