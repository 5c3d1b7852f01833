//! circular-wait: what if two streams wait for each other?
//!
//! Stream `a` needs what `b` computed in the round before, and `b` what `a` has computed in this one. Waits that all come
//! before the records make a circle, and one would expect that neither stream ever continues:
//!
//! ```text
//! circle      a.wait(eb)  b.wait(ea)    A  B    ea.record(a)  eb.record(b)
//! in order    a.wait(eb)  A  ea.record(a)    b.wait(ea)  B  eb.record(b)
//! ```
//!
//! It cannot happen. A wait stands for the latest record at the time of the *call*, so it refers to what is enqueued
//! already, never to what comes later: events make no circle. What the circle lacks is an order, in each round: `B` begins
//! beside `A`. A host that never returns from the wait at the end would prove this wrong.

use anyhow::Result;
use cuda_host::prelude::*;

kernels! { use gpu_kernels::fma_chain; }

pub const ROUNDS: usize = 4;
pub const STEPS: u32 = 2000; // multiply-adds of a kernel
pub const NUMBERS: usize = 32; // one for each thread of a warp

/// Two streams, and a buffer and an event of each.
pub struct StreamPair {
    kernels: Kernels,
    a: Stream,
    b: Stream,
    of_a: Event,
    of_b: Event,
    x: DeviceBuffer<f32>,
    pub y: DeviceBuffer<f32>,
}

impl StreamPair {
    pub fn new(given: &[f32; NUMBERS]) -> Result<Self> {
        let [a, b] = stream::non_blocking_named(["a", "b"])?;
        Ok(Self {
            a,
            b,
            of_a: Event::new(EventFlags::DISABLE_TIMING)?,
            of_b: Event::new(EventFlags::DISABLE_TIMING)?,
            x: DeviceBuffer::from_slice(&[f32::NAN; NUMBERS])?,
            y: DeviceBuffer::from_slice(given)?,
            kernels: Kernels::load(gpu_kernels::SM_70)?,
        })
    }

    /// Stream `a` computes `x` from `y`.
    fn compute_x(&mut self) -> Result<()> {
        let a = &self.a;
        // SAFETY: both buffers outlive the pair's work. Any bits are a valid f32.
        unsafe { launch!(self.kernels.fma_chain<<<1, 32, 0, a>>>(&self.y, &mut self.x, STEPS))? };
        Ok(())
    }

    /// Stream `b` computes `y` from `x`.
    fn compute_y(&mut self) -> Result<()> {
        let b = &self.b;
        // SAFETY: as above.
        unsafe { launch!(self.kernels.fma_chain<<<1, 32, 0, b>>>(&self.x, &mut self.y, STEPS))? };
        Ok(())
    }

    /// All waits of a round come before its records.
    pub fn circle(&mut self) -> Result<()> {
        for _ in 0..ROUNDS {
            self.a.wait(&self.of_b)?;
            self.b.wait(&self.of_a)?;
            self.compute_x()?;
            self.compute_y()?;
            self.of_a.record(&self.a)?;
            self.of_b.record(&self.b)?;
        }
        self.a.synchronize()?;
        Ok(self.b.synchronize()?)
    }

    /// Each wait comes behind the record that it is for.
    pub fn in_order(&mut self) -> Result<()> {
        for _ in 0..ROUNDS {
            self.a.wait(&self.of_b)?;
            self.compute_x()?;
            self.of_a.record(&self.a)?;
            self.b.wait(&self.of_a)?;
            self.compute_y()?;
            self.of_b.record(&self.b)?;
        }
        self.a.synchronize()?;
        Ok(self.b.synchronize()?)
    }
}
