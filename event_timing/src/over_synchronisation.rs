//! over-synchronisation: what do waits cost that no order needs?
//!
//! Three chains of steps have nothing to do with each other. In each round one chain's step is long and the others' are
//! short. Left alone, every chain continues when its own step has ended. With a barrier behind each round (every stream waits
//! for all others, or the host for the device), all wait for the long one:
//!
//! ```text
//! no waits   a |LLLLLLLLssssssLLLL ..      barrier   a |LLLLLLLL|sss     |sss     |
//!            b |sssLLLLLLLLsssssss ..                b |sss     |LLLLLLLL|sss     |
//!            c |ssssssLLLLLLLLssss ..                c |sss     |sss     |LLLLLLLL|
//! ```
//!
//! The results are the same: the barrier orders steps that share no data. If both took the same time, waits would be free.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;

kernels! { use gpu_kernels::affine_rounds; }

pub const CHAINS: usize = 3;
pub const NUMBERS: usize = 32; // of a chain, one for each thread of a warp
pub const ROUNDS: usize = 24; // a multiple of the chains, so that all have as much to do
pub const LONG: u32 = 26_000; // additions of a long step, some 60 µs on an H200
pub const SHORT: u32 = 8_500; // and of a short one: 20 µs
pub const SUMMAND: f32 = 1.0 / 4096.0;

/// The numbers that each chain's steps add to, and an event for each chain.
pub struct StepChains {
    kernels: Kernels,
    pub numbers: [DeviceBuffer<f32>; CHAINS],
    done: [Event; CHAINS],
}

impl StepChains {
    pub fn new() -> Result<Self> {
        let done = || Event::new(EventFlags::DISABLE_TIMING);
        let done = [done()?, done()?, done()?];
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let numbers = || DeviceBuffer::zeroed(NUMBERS);
        let numbers = [numbers()?, numbers()?, numbers()?];
        Ok(Self { kernels, numbers, done })
    }

    /// The step of a chain in this round: every third is a long one.
    pub fn launch(&mut self, chain: usize, round: usize, stream: &Stream) -> CudaResult<()> {
        let (kernel, numbers) = (&self.kernels.affine_rounds, &mut self.numbers[chain]);
        let additions = if round % CHAINS == chain { LONG } else { SHORT };
        // SAFETY: the numbers outlive the run, and a chain's steps are in one stream.
        unsafe { launch!(kernel<<<1, 32, 0, stream>>>(numbers, 1.0, SUMMAND, additions)) }
    }

    /// Each chain keeps to its stream: that is all the order there is.
    pub fn no_waits(&mut self, [a, b, c]: [&Stream; CHAINS]) -> Result<()> {
        for round in 0..ROUNDS {
            self.launch(0, round, a)?;
            self.launch(1, round, b)?;
            self.launch(2, round, c)?;
        }
        Ok(())
    }

    /// Behind each round, every stream waits for all of them.
    pub fn barrier(&mut self, [a, b, c]: [&Stream; CHAINS]) -> Result<()> {
        for round in 0..ROUNDS {
            self.launch(0, round, a)?;
            self.launch(1, round, b)?;
            self.launch(2, round, c)?;
            self.done[0].record(a)?;
            self.done[1].record(b)?;
            self.done[2].record(c)?;
            for stream in [a, b, c] {
                for done in &self.done {
                    stream.wait(done)?;
                }
            }
        }
        Ok(())
    }

    /// Behind each round, the host waits for the device.
    pub fn host_barrier(&mut self, [a, b, c]: [&Stream; CHAINS]) -> Result<()> {
        for round in 0..ROUNDS {
            self.launch(0, round, a)?;
            self.launch(1, round, b)?;
            self.launch(2, round, c)?;
            CurrentContext::synchronize()?;
        }
        Ok(())
    }
}
