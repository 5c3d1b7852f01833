//! Data whose elements have few different values, so that what must become of each can be looked up.
//!
//! An element has one of 65,536 values. A table holds the result of any computation of each of them: all elements of a
//! gigabyte are checked in a moment, however long the computation is. Which value an element has depends on its batch and
//! its place, so that wrong order, wrong chunk and wrong batch all show as wrong results.

use crate::data::Seed;
use libcuda::host;
use rayon::prelude::*;

const VALUES: usize = 1 << 16;
/// Elements that one task fills.
const TASK: usize = 64 * 1024;

/// The elements of one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    /// Element `index`, in [-1, 1).
    pub fn given(self, index: usize) -> f32 {
        number(self.value(index))
    }

    /// Fills `elements` with those from the first on. The write is reported to the software GPU's checker.
    #[track_caller]
    pub fn fill(self, elements: &mut [f32]) {
        host::writes(elements.as_ptr().cast(), size_of_val(elements));
        let tasks = elements.par_chunks_mut(TASK).enumerate();
        tasks.for_each(|(task, elements)| {
            for (place, element) in elements.iter_mut().enumerate() {
                *element = self.given(task * TASK + place);
            }
        });
    }
}

/// The number that stands for a value.
fn number(value: usize) -> f32 {
    (value as f32 - 32768.0) / 32768.0
}

/// The expected result for each value.
pub struct ExpectedValues(Vec<f32>);

impl ExpectedValues {
    /// After `computation`.
    pub fn by(computation: impl Fn(f32) -> f32 + Sync) -> Self {
        let values = (0..VALUES).into_par_iter();
        Self(values.map(|value| computation(number(value))).collect())
    }

    /// As [`ExpectedValues::by`], of the values only that the first `elements` of the batch have.
    pub fn of_batch(
        batch: Batch,
        elements: usize,
        computation: impl Fn(f32) -> f32 + Sync,
    ) -> Self {
        let mut used = vec![false; VALUES];
        for index in 0..elements {
            used[batch.value(index)] = true;
        }
        let values = used.into_par_iter().enumerate();
        let expected = |(value, used)| match used {
            true => computation(number(value)),
            false => f32::NAN,
        };
        Self(values.map(expected).collect())
    }

    /// The expected result for element `index` of the batch.
    pub fn of(&self, batch: Batch, index: usize) -> f32 {
        self.0[batch.value(index)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_up_gives_what_the_computation_does() {
        let twice = ExpectedValues::by(|x| 2.0 * x);
        let (one, other) = (Batch::new(1), Batch::new(2));
        let mut elements = vec![0.0; 2 * TASK + 3];
        one.fill(&mut elements);
        for (index, element) in elements.into_iter().enumerate() {
            assert_eq!(element, one.given(index));
            assert_eq!(twice.of(one, index), 2.0 * element);
        }
        assert!((0..8).any(|index| one.given(index) != other.given(index)));
    }
}
