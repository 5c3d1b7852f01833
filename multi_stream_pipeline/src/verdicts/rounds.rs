//! What the kernels over tiles compute, on the CPU.

use examples_host::few_values::ExpectedValues;
use gpu_kernels::{FACTOR, SUMMAND};

/// After `rounds` multiply-adds of each element.
pub fn after(rounds: u32) -> ExpectedValues {
    ExpectedValues::by(|x| (0..rounds).fold(x, |x, _| x.mul_add(FACTOR, SUMMAND)))
}
