//! The batches, what their products must be, and their pieces alone.

use super::super::matrices::{left, right};
use crate::shape::Shape;
use crate::streams::{Batches, Multiply};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::alone::TimedAlone;
use examples_host::periodic::PeriodicProducts;
use examples_host::prelude::*;

/// The batches, and what their products must be.
pub struct CheckedBatches {
    pub batches: Batches,
    shape: Shape,
    expected: Vec<PeriodicProducts>,
}

impl CheckedBatches {
    /// Every batch has an A of its own, and all have the same B.
    pub fn new(shape: Shape, batches: usize) -> Result<Self> {
        let of_batch = |batch| PeriodicProducts::new(80 + batch as u64, 72, shape.terms as usize);
        let expected: Vec<_> = (0..batches).map(of_batch).collect();
        let a: Vec<f32> = expected.iter().flat_map(|batch| left(&shape, batch)).collect();
        let batches = Batches::new(shape, batches, &a, &right(&shape, &expected[0]))?;
        Ok(Self { batches, shape, expected })
    }

    /// Copies a batch in, into the first set of buffers.
    pub fn copy_in(&mut self, batch: usize, stream: &Stream) -> Result<()> {
        Ok(self.batches.copy_in(batch, 0, stream)?)
    }

    /// Copies a batch out, of the set of buffers of the stream that calls it alone.
    pub fn copy_out(&mut self, batch: usize, stream: &Stream) -> Result<()> {
        Ok(self.batches.copy_out(batch, 1, stream)?)
    }
}

/// The kernels and nothing else: the end of one runs beside the beginning of the next.
pub fn kernels<'v>(
    multiply: Multiply,
    batches: usize,
    streams: [&'v Stream; 2],
) -> TimedAlone<'v, CheckedBatches> {
    piece(streams, move |known: &mut CheckedBatches| {
        for batch in 0..batches {
            multiply(&mut known.batches, batch % 2, streams[batch % 2])?;
        }
        Ok(())
    })
}

impl Workload for CheckedBatches {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.batches.output);
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let (columns, len) = (self.shape.columns(), self.shape.rows() * self.shape.columns());
        let expected = |index: usize| {
            let (batch, index) = (index / len, index % len);
            self.expected[batch].at(index / columns, index % columns)
        };
        Ok(check::equal("the products", 0, &self.batches.output, expected)?)
    }
}
