//! The activation between the two matrices of a feed-forward network, and what is added around them.

use core::f32::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use cuda_std::extensions::{FastFloat};
use cuda_std::{GpuFloat};
use cuda_std::prelude::*;

/// `x = gelu(x + bias[column])` in a matrix of `n` elements in rows of `columns`, with GELU in its tanh form,
/// `0.5 x (1 + tanh(sqrt(2 / π) (x + 0.044715 x³)))`. One thread per element.
#[kernel]
pub unsafe fn bias_gelu(data: *mut f32, n: u32, bias: *const f32, columns: u32) {
    // SAFETY: the launch vouches for the matrix and for a bias per column.
    unsafe {
        update(data, n, |i, x| {
            gelu(x + *bias.add((i % columns.max(1)) as usize))
        })
    };
}

/// `x += bias[column] + residual`, where the residual is a matrix of the same shape. One thread per element.
#[kernel]
pub unsafe fn bias_residual(
    data: *mut f32,
    n: u32,
    bias: *const f32,
    columns: u32,
    residual: *const f32,
) {
    // SAFETY: the launch vouches for the matrices and for a bias per column.
    unsafe {
        update(data, n, |i, x| {
            x + (*bias.add((i % columns.max(1)) as usize) + *residual.add(i as usize))
        });
    };
}

/// Replaces this thread's element of `data`.
///
/// # Safety
/// `data` points to `n` elements, and the launch has one dimension.
#[inline(always)]
unsafe fn update(data: *mut f32, n: u32, f: impl FnOnce(u32, f32) -> f32) {
    let i = thread::index_1d();
    if i < n {
        // SAFETY: i < n, and i is this thread's alone.
        let x = unsafe { &mut *data.add(i as usize) };
        *x = f(i, *x);
    }
}

/// `0.5 (1 + tanh u)` is `1 / (1 + exp(-2 u))`, which needs one exponential.
#[inline(always)]
fn gelu(x: f32) -> f32 {
    /// `2 sqrt(2 / π)`.
    const TWICE_ROOT: f32 = 2.0 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
    let twice = TWICE_ROOT * (0.044_715 * x * x).mul_add(x, x);
    x / (1.0 + (-twice).fast_exp())
}
