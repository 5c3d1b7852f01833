//! circular-wait: what if two streams wait for each other?
//!
//! Stream `a` needs what `b` computed in the round before, and `b` what `a` has computed in this one. Waits that all come
//! before the records make a circle, and one would expect that neither stream ever goes on:
//!
//! ```text
//! circle      a.wait(eb)  b.wait(ea)    A  B    ea.record(a)  eb.record(b)
//! in order    a.wait(eb)  A  ea.record(a)    b.wait(ea)  B  eb.record(b)
//! ```
//!
//! It cannot happen. A wait stands for the latest record at the time of the *call*, so it refers to what is enqueued
//! already, never to what comes later: events make no circle. What the circle lacks is an order, in each round: `B` begins
//! beside `A`. A host that never returns from the wait at the end would prove this wrong.

use crate::chains::NUMBERS;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use examples_host::prelude::*;
use examples_host::twins::{Outcome, Program};
use gpu_kernels::{FACTOR, SUMMAND};

kernels! { use gpu_kernels::fma_chain; }

const ROUNDS: usize = 4;
/// Multiply-adds of a kernel.
const STEPS: u32 = 2000;
const DATA: Seed = Seed::new(8);

/// Two streams, and a buffer and an event of each.
struct Pair {
    a: Stream,
    b: Stream,
    of_a: Event,
    of_b: Event,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    kernels: Kernels,
}

impl Pair {
    fn new(_: &Part) -> anyhow::Result<Self> {
        let [a, b] = stream::non_blocking_named(["a", "b"])?;
        let event = || Event::new(EventFlags::DISABLE_TIMING);
        let given: Vec<f32> = (0..NUMBERS).map(|i| DATA.f32(i)).collect();
        Ok(Self {
            a,
            b,
            of_a: event()?,
            of_b: event()?,
            x: DeviceBuffer::from_slice(&[f32::NAN; NUMBERS])?,
            y: DeviceBuffer::from_slice(&given)?,
            kernels: Kernels::load(gpu_kernels::SM_70)?,
        })
    }

    /// Stream `a` computes `x` from `y`.
    fn compute_x(&mut self) -> anyhow::Result<()> {
        let a = &self.a;
        // SAFETY: both buffers outlive the pair's work.
        unsafe { launch!(self.kernels.fma_chain<<<1, 32, 0, a>>>(&self.y, &mut self.x, STEPS))? };
        Ok(())
    }

    /// Stream `b` computes `y` from `x`.
    fn compute_y(&mut self) -> anyhow::Result<()> {
        let b = &self.b;
        // SAFETY: as above.
        unsafe { launch!(self.kernels.fma_chain<<<1, 32, 0, b>>>(&self.x, &mut self.y, STEPS))? };
        Ok(())
    }
}

fn program(which: Program, pair: &mut Pair) -> anyhow::Result<Outcome> {
    for _ in 0..ROUNDS {
        match which {
            Program::Racy => {
                pair.a.wait(&pair.of_b)?;
                pair.b.wait(&pair.of_a)?;
                pair.compute_x()?;
                pair.compute_y()?;
                pair.of_a.record(&pair.a)?;
                pair.of_b.record(&pair.b)?;
            }
            Program::Fixed => {
                pair.a.wait(&pair.of_b)?;
                pair.compute_x()?;
                pair.of_a.record(&pair.a)?;
                pair.b.wait(&pair.of_a)?;
                pair.compute_y()?;
                pair.of_b.record(&pair.b)?;
            }
        }
    }
    pair.a.synchronize()?;
    pair.b.synchronize()?;
    let steps = 2 * ROUNDS as u32 * STEPS;
    let expected = |i| (0..steps).fold(DATA.f32(i), |x: f32, _| x.mul_add(FACTOR, SUMMAND));
    Ok(check::equal("the result", 0, &pair.y.as_host_vec()?, expected))
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "The circle ends like any program: a wait for an event that was not recorded waits for\n\
         nothing. In each round, the second kernel does not wait for the first.",
    );
    part.twins(&["kernel `fma_chain`", "stream `a`", "stream `b`"], Pair::new, program)?;
    part.take_away("Events cannot deadlock, but a wait before its record orders nothing.");
    Ok(())
}
