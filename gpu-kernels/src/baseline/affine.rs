//! `x = a x + b` in place: one load, one store and any number of FMAs per element.

use cuda_std::{GpuFloat};
use cuda_std::prelude::*;

use crate::float4::Float4;
use crate::rounds::repeat;

/// `data[i] = a data[i] + b`, one element per thread.
#[kernel]
pub unsafe fn affine(data: &mut [f32], a: f32, b: f32) {
    // SAFETY: a slice, and the launch has one dimension.
    unsafe { update(data.as_mut_ptr(), data.len(), |x| a.mul_add(x, b)) };
}

/// [`affine`](fn@affine), four elements per thread by 16-byte accesses; `data` is aligned to 16 bytes.
#[kernel]
pub unsafe fn affine_x4(data: &mut [f32], a: f32, b: f32) {
    // SAFETY: a slice that the launch aligns to 16 bytes.
    unsafe {
        update_x4(data.as_mut_ptr(), data.len(), |x| {
            x.map(|x| a.mul_add(x, b))
        })
    };
}

/// [`affine`](fn@affine), `rounds` times before the element is stored: more arithmetic for the same traffic.
#[kernel]
pub unsafe fn affine_rounds(data: &mut [f32], a: f32, b: f32, rounds: u32) {
    // SAFETY: as for `affine`.
    unsafe {
        update(data.as_mut_ptr(), data.len(), |x| {
            repeat(rounds, x, |x| a.mul_add(x, b))
        })
    };
}

/// [`affine_rounds`](fn@affine_rounds), four elements per thread by 16-byte accesses; `data` is aligned to 16 bytes.
#[kernel]
pub unsafe fn affine_rounds_x4(data: &mut [f32], a: f32, b: f32, rounds: u32) {
    let step = |x: [f32; 4]| x.map(|x| a.mul_add(x, b));
    // SAFETY: as for `affine_x4`.
    unsafe { update_x4(data.as_mut_ptr(), data.len(), |x| repeat(rounds, x, step)) };
}

/// [`affine_rounds_x4`](fn@affine_rounds_x4) with a grid of any size: each thread takes a group of four elements, and then the one that is the
/// whole grid further on. A grid of few blocks leaves multiprocessors to other kernels, and takes longer.
#[kernel]
pub unsafe fn affine_strided_x4(data: &mut [f32], a: f32, b: f32, rounds: u32) {
    let stride = (thread::grid_dim_x() * thread::block_dim_x()) as usize * 4;
    let (data, n) = (data.as_mut_ptr(), data.len());
    let mut first = thread::index_1d() as usize * 4;
    while first + 4 <= n {
        let group = data.wrapping_add(first).cast::<Float4>();
        // SAFETY: `first` is a multiple of four, four elements lie there, and they are this thread's alone.
        let Float4([mut x, mut y, mut z, mut w]) = unsafe { *group };
        for _ in 0..rounds {
            (x, y) = (a.mul_add(x, b), a.mul_add(y, b));
            (z, w) = (a.mul_add(z, b), a.mul_add(w, b));
        }
        // SAFETY: as above.
        unsafe { *group = Float4([x, y, z, w]) };
        first += stride;
    }
    // What is left of the last group.
    while first < n {
        // SAFETY: `first` is below n, and the group is this thread's alone.
        let x = unsafe { &mut *data.add(first) };
        *x = repeat(rounds, *x, |x| a.mul_add(x, b));
        first += 1;
    }
}

/// Replaces this thread's element of `data`.
///
/// # Safety
/// `data` points to `n` elements, and the launch has one dimension.
#[inline(always)]
unsafe fn update(data: *mut f32, n: usize, f: impl FnOnce(f32) -> f32) {
    let i = thread::index_1d() as usize;
    if i < n {
        // SAFETY: i < n, and i is this thread's alone.
        let x = unsafe { &mut *data.add(i) };
        *x = f(*x);
    }
}

/// Replaces this thread's group of four elements of `data`, or what is left of it at the end.
///
/// # Safety
/// As for [`update`], and `data` is aligned to 16 bytes.
#[inline(always)]
unsafe fn update_x4(data: *mut f32, n: usize, f: impl FnOnce([f32; 4]) -> [f32; 4]) {
    let first = thread::index_1d() as usize * 4;
    if first < n {
        // SAFETY: `first` is a multiple of four, and the group is this thread's alone.
        unsafe { Float4(f(Float4::load(data, first, n).0)).store(data, first, n) };
    }
}
