//! Ten kernels on slices, as a newcomer writes them: each index is checked. `cuda/slices.cu` has them in CUDA C++, and
//! `scripts/check-slices` compares the code of both.

use core::sync::atomic::Ordering;

use cuda_std::atomic::mid;
use cuda_std::prelude::*;
use cuda_std::shared_array;

/// Threads of a block of [`block_sum`].
const THREADS: usize = 256;

#[kernel]
pub unsafe fn scale(factor: f32, data: &mut [f32]) {
    let i = thread::index_1d() as usize;
    if i < data.len() {
        data[i] *= factor;
    }
}

#[kernel]
pub unsafe fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    let i = thread::index_1d() as usize;
    if i < y.len() {
        y[i] = a * x[i] + y[i];
    }
}

/// A division takes more registers than multiplications do, in both languages.
#[kernel]
pub unsafe fn mean(input: &[f32], output: &mut [f32]) {
    let i = thread::index_1d() as usize;
    if i > 0 && i < output.len() - 1 {
        output[i] = (input[i - 1] + input[i] + input[i + 1]) / 3.0;
    }
}

/// A polynomial of degree 4 by Horner's rule.
#[kernel]
pub unsafe fn polynomial(c: [f32; 5], x: &[f32], y: &mut [f32]) {
    let i = thread::index_1d() as usize;
    if i < y.len() {
        let x = x[i];
        y[i] = (((c[4] * x + c[3]) * x + c[2]) * x + c[1]) * x + c[0];
    }
}

#[kernel]
pub unsafe fn stencil(input: &[f32], output: &mut [f32]) {
    let i = thread::index_1d() as usize;
    if i > 0 && i + 1 < input.len() {
        output[i] = 0.25 * input[i - 1] + 0.5 * input[i] + 0.25 * input[i + 1];
    }
}

/// One thread adds up a row.
#[kernel]
pub unsafe fn rowsum(matrix: &[f32], columns: usize, sums: &mut [f32]) {
    let row = thread::index_1d() as usize;
    if row < sums.len() {
        let mut sum = 0.0;
        for column in 0..columns {
            sum += matrix[row * columns + column];
        }
        sums[row] = sum;
    }
}

/// `c = a b`, all of them square; one thread computes one element.
#[kernel]
pub unsafe fn matmul(a: &[f32], b: &[f32], c: &mut [f32], n: usize) {
    let column = (thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x()) as usize;
    let row = (thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y()) as usize;
    if row < n && column < n {
        let mut sum = 0.0;
        for k in 0..n {
            sum += a[row * n + k] * b[k * n + column];
        }
        c[row * n + column] = sum;
    }
}

#[kernel]
pub unsafe fn transpose(input: &[f32], output: &mut [f32], n: usize) {
    let column = (thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x()) as usize;
    let row = (thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y()) as usize;
    if row < n && column < n {
        output[column * n + row] = input[row * n + column];
    }
}

#[kernel]
pub unsafe fn histogram(values: &[u32], bins: &mut [u32]) {
    let i = thread::index_1d() as usize;
    if i < values.len() {
        let bin: *mut u32 = &mut bins[values[i] as usize];
        unsafe { mid::atomic_fetch_add_u32_device(bin, Ordering::Relaxed, 1) };
    }
}

/// A block adds up its elements in shared memory.
#[kernel]
pub unsafe fn block_sum(values: &[f32], sums: &mut [f32]) {
    let tile = shared_array![f32; THREADS];
    let (i, t) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    let value = if i < values.len() { values[i] } else { 0.0 };
    unsafe { *tile.add(t) = value };
    thread::sync_threads();
    let mut half = THREADS / 2;
    while half > 0 {
        if t < half {
            unsafe { *tile.add(t) += *tile.add(t + half) };
        }
        thread::sync_threads();
        half /= 2;
    }
    if t == 0 {
        sums[thread::block_idx_x() as usize] = unsafe { *tile };
    }
}
