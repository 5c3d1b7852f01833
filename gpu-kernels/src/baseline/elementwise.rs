//! The simplest kernels: one element per thread.

use cuda_std::{GpuFloat};
use cuda_std::prelude::*;

/// `out[i] = value`.
#[kernel]
pub unsafe fn fill(out: &mut [f32], value: f32) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        out[i] = value;
    }
}

/// `out[i] = first + i`, wrapping.
#[kernel]
pub unsafe fn iota(out: &mut [u32], first: u32) {
    let i = thread::index_1d();
    if (i as usize) < out.len() {
        out[i as usize] = first.wrapping_add(i);
    }
}

/// `data[i] = factor data[i]`.
#[kernel]
pub unsafe fn scale(data: &mut [f32], factor: f32) {
    let i = thread::index_1d() as usize;
    if i < data.len() {
        data[i] *= factor;
    }
}

/// `y[i] = a x[i] + y[i]`.
#[kernel]
pub unsafe fn saxpy(a: f32, x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        // SAFETY: y is as long as x.
        let y = unsafe { &mut *y.add(i) };
        *y = a.mul_add(x[i], *y);
    }
}
