//! The batches, their memory, and what must come out.

use super::arena::Arena;
use super::layer::{self, D, Layer};
use super::{Model, poison, reference};
use cuda_host::pool::MemoryPool;
use cuda_host::stream;
use cust::context::CurrentContext;
use cust::memory::{DeviceBuffer, LockedBuffer};
use examples_host::distance;
use examples_host::prelude::*;
use examples_host::requests::Requests;

/// How far an element may be from the reference. The outputs are of the order of 1.
pub const TOLERANCE: f64 = 1e-4;

/// Rows of [`D`] features, in page-locked memory.
pub struct Batch {
    pub input: LockedBuffer<f32>,
    pub output: LockedBuffer<f32>,
    pub expected: Vec<f64>,
}

impl Batch {
    /// Batches of so many tokens each, with data of their own.
    pub fn all(lengths: &[usize]) -> anyhow::Result<Vec<Self>> {
        let batch = |(number, &length): (usize, &usize)| {
            let mut input = LockedBuffer::new(&0.0, length * D)?;
            Seed::new(600 + number as u64).fill_f32(0, &mut input);
            Ok(Self {
                output: LockedBuffer::new(&0.0, length * D)?,
                expected: reference::forward(&input),
                input,
            })
        };
        lengths.iter().enumerate().map(batch).collect()
    }

    pub fn tokens(&self) -> usize {
        self.input.len() / D
    }

    /// Compares every element with the reference.
    pub fn check(&self) -> anyhow::Result<Checked> {
        let expected = |index: usize| self.expected[index] as f32;
        let close = |got: &f32, expected: &f32| f64::from((got - expected).abs()) <= TOLERANCE;
        Ok(check::matching("the output", 0, &self.output, expected, close)?)
    }
}

/// The batches, and what serves them.
pub struct Server {
    pub model: Model,
    pub batches: Vec<Batch>,
    pub pool: MemoryPool,
    pub arena: Arena,
    /// Elements of scratch memory that the largest batch takes at once.
    pub most_scratch: usize,
}

impl Server {
    /// Batches of so many tokens each.
    pub fn new(lengths: &[usize]) -> anyhow::Result<Self> {
        let batches = Batch::all(lengths)?;
        let longest = lengths.iter().max().copied().unwrap_or(1);
        let most_scratch = Arena::room_for(layer::scratch_lengths(longest));
        let [stream] = stream::named(["layer"])?;
        let layer = Layer::new()?;
        // SAFETY: each batch writes what it reads.
        let [x, out] = unsafe {
            [DeviceBuffer::uninitialized(longest * D)?, DeviceBuffer::uninitialized(longest * D)?]
        };
        let pool = MemoryPool::new(CurrentContext::get_device()?)?;
        pool.set_release_threshold(u64::MAX)?;
        Ok(Self {
            model: Model { stream, layer, x, out },
            batches,
            pool,
            arena: Arena::new(most_scratch)?,
            most_scratch,
        })
    }

    /// The largest distance of an element from the reference.
    pub fn largest_error(&self) -> f64 {
        let pairs = self.batches.iter().flat_map(|batch| batch.output.iter().zip(&batch.expected));
        distance::largest(pairs)
    }
}

impl Workload for Server {
    fn poison(&mut self) -> anyhow::Result<()> {
        let Model { stream, x, out, .. } = &mut self.model;
        poison(&mut self.pool, self.most_scratch, stream)?;
        poison(&mut self.arena, self.most_scratch, stream)?;
        // SAFETY: both outlive the wait.
        unsafe {
            x.set_8_async(0xFF, stream)?;
            out.set_8_async(0xFF, stream)?;
        }
        self.batches.iter_mut().for_each(|batch| check::poison(&mut batch.output));
        Ok(stream.synchronize()?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let mut each = self.batches.iter().map(Batch::check);
        each.try_fold(Checked::default(), |all, one| Ok(all.and(one?)))
    }
}

impl Requests for Server {
    fn requests(&self) -> Vec<String> {
        self.batches.iter().map(|batch| batch.tokens().to_string()).collect()
    }
}
