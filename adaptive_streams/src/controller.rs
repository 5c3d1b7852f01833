//! controller: does a controller keep up with work that changes?
//!
//! Each round brings two mebibytes through staging memory that S streams share: each has chunks of 2 MiB / S. Few streams block the
//! host's calls cheap. Many hide long kernels, since S of them run at the same time. The kernels' grids change twice while the program
//! runs, at rounds that the controller does not know, and with them the ratio K/H of a kernel's time to a copy's:
//!
//! ```text
//! phase     0            1              2
//! K/H       small        large          small           how many streams are best?
//! 4 streams |HHHHHHHH    |HHH   HHH     |HHHHHHHH       K/H small: 4
//! 8 streams |H H H H H   |H H H H H     |H H H H H      K/H large: 8
//! ```
//!
//! The controller (`choose.rs`) has events recorded around one kernel in every sixth round, reads them two rounds later, when they have
//! happened anyway, and decides (`decide.rs`). A change of the number of streams hands all staging memory over. A regret above 5 % of
//! what the best choice of each phase would have taken would prove this wrong, and so would a fixed number of streams that is as fast.

use anyhow::Result;
use cuda_host::prelude::*;
use std::ops::Range;

kernels! { use gpu_kernels::affine_strided_x4; }

pub const ROUND: usize = 1 << 19; // elements of a round
pub const INPUT: usize = 12; // rounds after which the input repeats
pub const PHASES: usize = 3;
pub type Size = (u32, u32); // blocks, and threads of a block: few are slow, and leave the rest of the device to other streams

/// The data, page-locked; the staging memory; what it is handed over with; and events that time the rounds, and a kernel in each.
pub struct Rounds<'s> {
    pub input: LockedBuffer<f32>,
    pub output: LockedBuffer<f32>,
    pub staging: DeviceBuffer<f32>,
    pub streams: &'s [Stream],
    handed: Vec<Event>,
    pub begin: Event,
    pub ends: Vec<Event>,
    pub samples: Vec<[Event; 2]>,
    kernels: Kernels,
    end: [usize; PHASES], // the round behind each phase: the controller does not know it
    pub grids: [Size; PHASES],
}

impl<'s> Rounds<'s> {
    pub fn new(streams: &'s [Stream], end: [usize; PHASES], grids: [Size; PHASES]) -> Result<Self> {
        let timed = || Event::new(EventFlags::DEFAULT);
        let order = |_| Event::new(EventFlags::DISABLE_TIMING);
        let rounds = end[PHASES - 1];
        Ok(Self {
            input: LockedBuffer::new(&0.0, INPUT * ROUND)?,
            output: LockedBuffer::new(&0.0, rounds * ROUND)?,
            staging: DeviceBuffer::zeroed(ROUND)?,
            streams,
            handed: (0..streams.len()).map(order).collect::<CudaResult<_>>()?,
            begin: timed()?,
            ends: (0..rounds).map(|_| timed()).collect::<CudaResult<_>>()?,
            samples: (0..rounds).map(|_| Ok([timed()?, timed()?])).collect::<CudaResult<_>>()?,
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            end,
            grids,
        })
    }

    /// A chunk's way through the device, in its stream: `part` is its number, and that of all in the round. Events around the kernel
    /// time it if it is sampled.
    pub fn chunk(&mut self, round: usize, part: Range<usize>, sampled: bool) -> Result<()> {
        let (stream, [began, ended]) = (&self.streams[part.start], &self.samples[round]);
        let phase = self.end.iter().take_while(|&&end| end <= round).count();
        let (blocks, threads) = self.grids[phase];
        let len = ROUND / part.end;
        let at = |first: usize| first + part.start * len..first + (part.start + 1) * len;
        let (from, to) = (at(round % INPUT * ROUND), at(round * ROUND));
        let mut data = self.staging.index(at(0));
        // SAFETY: all memory outlives the run. A piece of the staging memory is its stream's alone.
        unsafe {
            data.async_copy_from(&self.input[from], stream)?;
            if sampled {
                began.record(stream)?;
            }
            launch!(self.kernels.affine_strided_x4<<<blocks, threads, 0, stream>>>(&mut data, 2.0, 1.0, 1))?;
            if sampled {
                ended.record(stream)?;
            }
            data.async_copy_to(&mut self.output[to], stream)?;
        }
        Ok(())
    }

    /// Shares the staging memory anew: no stream begins before all that had a piece of it have ended.
    pub fn hand_over(&self, before: usize, now: usize) -> Result<()> {
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
}
