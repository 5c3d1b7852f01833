//! The chains of issue-order: a stream each, with a chunk on its way in and out.

use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SM_70, SUMMAND};

kernels! {
    pub unsafe struct Kernels {
        fn affine_rounds(data: &mut [f32], a: f32, b: f32, rounds: u32) = gpu_kernels::affine_rounds;
    }
}

/// Elements that a kernel changes: one warp's. So it is small, and many rounds make it long.
const HEAD: u32 = 32;
const ROUNDS: u32 = 25_000;
const DATA: Seed = Seed::new(2);

/// One stream's work.
pub struct Chain {
    input: HostBuffer<f32>,
    data: DeviceBuffer<f32>,
    output: HostBuffer<f32>,
    /// What the kernel must make of the chunk's head.
    head: Vec<f32>,
}

/// A step of a chain, enqueued in its stream.
pub type Stage = fn(&mut Chain, &Kernels) -> Result<()>;

impl Chain {
    fn new(
        index: usize,
        input: HostBuffer<f32>,
        output: HostBuffer<f32>,
        device: &Device,
    ) -> Result<Self> {
        let stream = Stream::non_blocking(device, format!("stream {index}"))?;
        let data = DeviceBuffer::new(&stream, input.len())?;
        let changed =
            |element| (0..ROUNDS).fold(DATA.f32(element), |x, _| x.mul_add(FACTOR, SUMMAND));
        let head = (input.offset()..).take(input.len().min(HEAD as usize));
        Ok(Self {
            head: head.map(changed).collect(),
            input,
            data,
            output,
        })
    }

    pub fn stream(&self) -> &Stream {
        self.data.stream()
    }

    pub fn copy_in(&mut self, _: &Kernels) -> Result<()> {
        self.data.copy_from(&self.input)
    }

    pub fn compute(&mut self, kernels: &Kernels) -> Result<()> {
        kernels.affine_rounds(Grid::new(1, HEAD), &mut self.data, FACTOR, SUMMAND, ROUNDS)
    }

    pub fn copy_out(&mut self, _: &Kernels) -> Result<()> {
        self.data.copy_to(&mut self.output)
    }

    fn poison(&mut self) -> Result<()> {
        self.data.poison()?;
        self.output.poison()
    }

    fn check(&self) -> anyhow::Result<Checked> {
        let (first, head) = (self.output.offset(), &self.head[..]);
        let expected = |index: usize| match head.get(index - first) {
            Some(changed) => *changed,
            None => DATA.f32(index),
        };
        Ok(check::equal(
            self.stream().name(),
            first,
            self.output.read()?,
            expected,
        )?)
    }
}

/// Chains that have nothing to do with one another.
pub struct Work {
    pub chains: Vec<Chain>,
    pub kernels: Kernels,
}

impl Work {
    /// Cuts page-locked data into a chunk per stream.
    pub fn new(device: &Device, elements: usize, streams: usize) -> Result<Self> {
        let mut input = HostBuffer::page_locked(device, elements)?;
        DATA.fill_f32(0, input.write()?);
        let output = HostBuffer::page_locked(device, elements)?.split(streams)?;
        let pairs = input.split(streams)?.into_iter().zip(output);
        let chain = |(index, (input, output))| Chain::new(index, input, output, device);
        Ok(Self {
            chains: pairs.enumerate().map(chain).collect::<Result<_>>()?,
            kernels: Kernels::load(device, SM_70)?,
        })
    }

    /// The streams of all chains.
    pub fn streams(&self) -> Vec<Stream> {
        self.chains
            .iter()
            .map(|chain| chain.stream().clone())
            .collect()
    }

    /// Makes every result of an earlier run unrecognisable.
    pub fn poison(&mut self) -> Result<()> {
        self.chains.iter_mut().try_for_each(Chain::poison)
    }

    /// Compares every element that was copied out with what the CPU computes.
    pub fn check(&self) -> anyhow::Result<Checked> {
        let add = |sum: Checked, chain: &Chain| anyhow::Ok(sum.and(chain.check()?));
        self.chains.iter().try_fold(Checked::default(), add)
    }
}
