//! What the stages are given, and what must come out.
//!
//! An element has one of 65,536 values, so that a table holds what any number of multiply-adds makes of each: every
//! element of a gigabyte can be checked in no time. Which value it has depends on its batch and its place.

use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SUMMAND};
use rayon::prelude::*;

/// What chunks consist of: as many elements as a warp loads at once.
pub type Line = [f32; 32];

/// Elements of so many lines.
pub const fn elements_of(lines: usize) -> usize {
    lines * (size_of::<Line>() / size_of::<f32>())
}

const VALUES: usize = 1 << 16;

/// The elements of one batch.
#[derive(Clone, Copy)]
pub struct Batch(Seed);

impl Batch {
    /// The batch of that number.
    pub const fn new(number: u64) -> Self {
        Self(Seed::new(number))
    }

    /// Which of the values element `index` has.
    fn value(self, index: usize) -> usize {
        self.0.u32(index) as usize % VALUES
    }

    /// Element `index`.
    pub fn given(self, index: usize) -> f32 {
        number(self.value(index))
    }

    /// Fills a piece with the elements that belong there.
    pub fn fill(self, piece: &mut HostBuffer<f32>) -> Result<()> {
        let offset = piece.offset();
        let elements = piece.write()?.par_iter_mut().enumerate();
        elements.for_each(|(index, element)| *element = self.given(offset + index));
        Ok(())
    }
}

/// The number that stands for a value, in [-1, 1).
fn number(value: usize) -> f32 {
    (value as f32 - 32768.0) / 32768.0
}

/// What must become of each value.
pub struct Expected(Vec<f32>);

impl Expected {
    /// After `rounds` multiply-adds, as the kernels over tiles compute them.
    pub fn after(rounds: u32) -> Self {
        Self::by(|x| (0..rounds).fold(x, |x, _| x.mul_add(FACTOR, SUMMAND)))
    }

    /// After `transform`.
    pub fn by(transform: impl Fn(f32) -> f32 + Sync) -> Self {
        let values = (0..VALUES).into_par_iter();
        Self(values.map(|value| transform(number(value))).collect())
    }

    /// What must become of element `index` of the batch.
    pub fn of(&self, batch: Batch, index: usize) -> f32 {
        self.0[batch.value(index)]
    }
}
