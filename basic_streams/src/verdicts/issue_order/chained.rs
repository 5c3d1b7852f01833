//! The chains with their data, and the expected results.

use crate::issue_order::{ChunkChains, ROUNDS};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SUMMAND};

const DATA: Seed = Seed::new(2);
/// Elements that a kernel changes.
const HEAD: usize = 32;

/// The chains, and whether they copy out as well.
pub struct Chained<'s> {
    pub chains: ChunkChains,
    pub streams: &'s [Stream],
    pub both_ways: bool,
}

impl<'s> Chained<'s> {
    /// Chains with this many elements of data, which copy in one direction.
    pub fn new(elements: usize, streams: &'s [Stream]) -> Result<Self> {
        let mut chains = ChunkChains::new(chunks::ranges::<f32>(elements, streams.len())?)?;
        DATA.fill_f32(0, &mut chains.input);
        Ok(Self { chains, streams, both_ways: false })
    }

    /// One step of all chains, each in its stream.
    pub fn all(
        &mut self,
        step: fn(&mut ChunkChains, usize, &Stream) -> CudaResult<()>,
    ) -> Result<()> {
        for (i, stream) in self.streams.iter().enumerate() {
            step(&mut self.chains, i, stream)?;
        }
        Ok(())
    }
}

impl Workload for Chained<'_> {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.chains.output);
        for data in &mut self.chains.data {
            data.set_8(0xFF)?;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        if !self.both_ways {
            self.all(ChunkChains::async_copy_out)?;
            for stream in self.streams {
                stream.synchronize()?;
            }
        }
        let mut checked = Checked::default();
        for chunk in &self.chains.chunks {
            let rounds = |i: usize| if i < chunk.start + HEAD { ROUNDS } else { 0 };
            let expected = |i| (0..rounds(i)).fold(DATA.f32(i), |x, _| x.mul_add(FACTOR, SUMMAND));
            let found = &self.chains.output[chunk.clone()];
            checked = checked.and(check::equal("the output", chunk.start, found, expected)?);
        }
        Ok(checked)
    }
}
