//! synchronisation: what does it cost to wait before each of many small steps?
//!
//! A chain of small kernels goes to and fro between two streams: each needs the result of the one before. Something has to keep that order. The host
//! can, in five ways: it waits for the device, for the stream or for an event, spinning or asleep, or it polls. Or the other stream waits for the
//! event, and the host for nothing:
//!
//! ```text
//! host waits     host |LwwwwwwL wwwwwwL wwwwwwL  |       stream waits   host |LrsLrsLrsLrs          |
//!                a    | KKKKKK         KKKKKK    |                      a    | KKKKKK      KKKKKK   |
//!                b    |         KKKKKK         KK|                      b    |       KKKKKK      KKK|
//! ```
//!
//! The device idles for as long as the host takes to notice the end of a step and to launch the next. If the host were
//! told at once, or launches were free, all ways would take the same time.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use cust::event::EventStatus;

kernels! { use gpu_kernels::affine_rounds; }

pub const STEPS: usize = 1000;
pub const NUMBERS: usize = 32; // one for each thread of a warp: a step leaves nearly all of the device to others
pub const ROUNDS: u32 = 5000; // additions of a step: some 12 µs on an H200, more than it takes to launch it
pub const SUMMAND: f32 = 1.0 / 4096.0;

/// The numbers that all steps add to, an event that a waiting host spins for, and one that it sleeps for.
pub struct WaitingChain {
    kernels: Kernels,
    pub numbers: DeviceBuffer<f32>,
    pub spinning: Event,
    pub sleeping: Event,
}

impl WaitingChain {
    pub fn new() -> Result<Self> {
        let spinning = Event::new(EventFlags::DISABLE_TIMING)?;
        let sleeping = Event::new(EventFlags::DISABLE_TIMING | EventFlags::BLOCKING_SYNC)?;
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let numbers = DeviceBuffer::zeroed(NUMBERS)?;
        Ok(Self { kernels, numbers, spinning, sleeping })
    }

    /// A step.
    pub fn launch(&self, stream: &Stream) -> CudaResult<()> {
        let mut x = self.numbers.index(..);
        // SAFETY: the numbers outlive the run, and each step waits for the one before it.
        unsafe {
            launch!(self.kernels.affine_rounds<<<1, 32, 0, stream>>>(&mut x, 1.0, SUMMAND, ROUNDS))
        }
    }

    /// The host waits until the device has nothing left to do (`cuCtxSynchronize`).
    pub fn device(&self, [a, b]: [&Stream; 2]) -> Result<()> {
        for _ in 0..STEPS / 2 {
            self.launch(a)?;
            CurrentContext::synchronize()?;
            self.launch(b)?;
            CurrentContext::synchronize()?;
        }
        Ok(())
    }

    /// The host waits until the stream has nothing left to do (`cuStreamSynchronize`).
    pub fn stream(&self, [a, b]: [&Stream; 2]) -> Result<()> {
        for _ in 0..STEPS / 2 {
            self.launch(a)?;
            a.synchronize()?;
            self.launch(b)?;
            b.synchronize()?;
        }
        Ok(())
    }

    /// The host waits for an event (`cuEventSynchronize`): it spins, or with `CU_EVENT_BLOCKING_SYNC` sleeps.
    pub fn event(&self, event: &Event, [a, b]: [&Stream; 2]) -> Result<()> {
        for _ in 0..STEPS / 2 {
            self.launch(a)?;
            event.record(a)?;
            event.synchronize()?;
            self.launch(b)?;
            event.record(b)?;
            event.synchronize()?;
        }
        Ok(())
    }

    /// The host polls until the event has completed (`cuEventQuery`).
    pub fn query(&self, event: &Event, [a, b]: [&Stream; 2]) -> Result<()> {
        for _ in 0..STEPS / 2 {
            self.launch(a)?;
            event.record(a)?;
            while event.query()? == EventStatus::NotReady {}
            self.launch(b)?;
            event.record(b)?;
            while event.query()? == EventStatus::NotReady {}
        }
        Ok(())
    }

    /// The other stream waits for the event (`cuStreamWaitEvent`), and the host for nothing.
    pub fn wait_event(&self, event: &Event, [a, b]: [&Stream; 2]) -> Result<()> {
        for _ in 0..STEPS / 2 {
            self.launch(a)?;
            event.record(a)?;
            b.wait(event)?;
            self.launch(b)?;
            event.record(b)?;
            a.wait(event)?;
        }
        Ok(())
    }
}
