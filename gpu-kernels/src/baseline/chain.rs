//! A chain of dependent multiply-adds: arithmetic in any amount, with next to no memory traffic.

use cuda_std::{GpuFloat};
use cuda_std::prelude::*;

use crate::rounds::{FACTOR, SUMMAND, repeat};

/// `rounds` times `x = FACTOR x + SUMMAND`, each from the one before: `output[i]` from `input[i]`. One
/// element per thread; the output is as long as the input.
#[kernel]
pub unsafe fn fma_chain(input: &[f32], output: *mut f32, rounds: u32) {
    let i = thread::index_1d() as usize;
    if i < input.len() {
        let x = repeat(rounds, input[i], |x| x.mul_add(FACTOR, SUMMAND));
        // SAFETY: the output is as long as the input.
        unsafe { *output.add(i) = x };
    }
}
