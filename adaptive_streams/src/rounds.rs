//! The data, in rounds: each brings two mebibytes to the device, through a kernel and back, a chunk in each stream.
//!
//! The staging memory on the device is fixed, and the streams share it: more streams have smaller chunks. At most two rounds are
//! under way, so that a choice made now takes effect soon.

mod data;

use anyhow::Result;
use cuda_host::{launch, prelude::*};
use cust::memory::AsyncCopyDestination;
pub use data::Rounds;
use std::ops::Range;

const A: f32 = 2.0;
const B: f32 = 1.0;
/// Elements of a round.
const ROUND: usize = 1 << 19;
/// The input repeats after so many rounds.
const INPUT: usize = 12;
/// Blocks of a kernel, and threads of a block: few of them are slow, and leave the rest of the device to other streams.
pub type Grid = (u32, u32);
/// The grid of a short kernel.
const SHORT: Grid = (8, 256);
/// The grids of a long one. Which of them is long depends on the device: on its clock, and on the link that copies take.
pub const LONG: [Grid; 4] = [(1, 96), (1, 64), (1, 48), (1, 32)];
/// The number of phases: the kernels are short, long, and short again.
pub const PHASES: usize = 3;
/// Rounds that are under way at most.
pub const AHEAD: usize = 2;

impl Rounds<'_> {
    /// The rounds from the first on, each with the number of streams that is chosen for it, and with events around a kernel if
    /// that is asked for.
    pub fn run(
        &mut self,
        rounds: usize,
        mut choose: impl FnMut(&Self, usize) -> Result<(usize, bool)>,
    ) -> Result<()> {
        let mut before = 0;
        self.begin.record(&self.streams[0])?;
        for round in 0..rounds {
            if round >= AHEAD {
                self.ends[round - AHEAD].synchronize()?;
            }
            let (streams, sampled) = choose(self, round)?;
            if streams != before {
                self.hand_over(before, streams)?;
            }
            for part in 0..streams {
                self.chunk(round, part..streams, sampled && part == 0)?;
            }
            self.ends[round].record(&self.streams[streams - 1])?;
            before = streams;
        }
        self.ran = rounds == self.all();
        Ok(())
    }

    /// A chunk's way through the device, in its stream: `part` is its number, and that of all in the round.
    pub fn chunk(&mut self, round: usize, part: Range<usize>, sampled: bool) -> Result<()> {
        let (stream, [began, ended]) = (&self.streams[part.start], &self.samples[round]);
        let (kernel, phase) = (&self.kernels.affine_strided_x4, round / self.per_phase);
        let (blocks, threads) = if phase == 1 { self.long } else { SHORT };
        let len = ROUND / part.end;
        let at = |first: usize| first + part.start * len..first + (part.start + 1) * len;
        let (from, to) = (at(round % INPUT * ROUND), at(round * ROUND));
        let mut data = self.staging.index(at(0));
        // SAFETY: the input is page-locked and outlives the run. A piece of the staging memory is its stream's alone.
        unsafe { data.async_copy_from(&self.input[from], stream)? };
        if sampled {
            began.record(stream)?;
        }
        // SAFETY: the staging memory outlives the run, and any grid does.
        unsafe { launch!(kernel<<<blocks, threads, 0, stream>>>(&mut data, A, B, 1))? };
        if sampled {
            ended.record(stream)?;
        }
        // SAFETY: the output is page-locked, outlives the run, and is read behind it.
        unsafe { data.async_copy_to(&mut self.output[to], stream)? };
        Ok(())
    }

    /// Shares the staging memory anew: no stream begins before all that had a piece of it have ended.
    fn hand_over(&self, before: usize, now: usize) -> Result<()> {
        for (stream, handed) in self.streams[..before].iter().zip(&self.handed) {
            handed.record(stream)?;
        }
        for stream in &self.streams[..now] {
            for handed in &self.handed[..before] {
                stream.wait(handed)?;
            }
        }
        Ok(())
    }

    /// The copies of so many rounds, each direction in a stream of its own and in whole halves: no choice is faster.
    pub fn copies(&mut self, rounds: usize) -> Result<()> {
        let half = ROUND / 2;
        let (mut arriving, leaving) = (self.staging.index(..half), self.staging.index(half..));
        for part in 0..2 * rounds {
            let from = part % (2 * INPUT) * half;
            // SAFETY: as for a chunk; the two halves of the staging memory have nothing to do with each other.
            unsafe { arriving.async_copy_from(&self.input[from..from + half], &self.streams[0])? };
            let to = &mut self.output[part * half..(part + 1) * half];
            // SAFETY: as above.
            unsafe { leaving.async_copy_to(to, &self.streams[1])? };
        }
        Ok(())
    }

    /// The copy in of a round, in one piece.
    pub fn copy_in(&mut self) -> Result<()> {
        // SAFETY: as for a chunk.
        unsafe { self.staging.async_copy_from(&self.input[..ROUND], &self.streams[0])? };
        Ok(())
    }
}
