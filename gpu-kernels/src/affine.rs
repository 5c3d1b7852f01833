//! `x = a x + b` in place.

use cuda_std::prelude::*;

/// Four neighbouring elements, loaded and stored by one 16-byte access (`ld.global.v4.f32`).
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Float4(pub(crate) [f32; 4]);

/// One element per thread.
#[kernel]
pub unsafe fn affine(data: *mut f32, n: usize, a: f32, b: f32) {
    let i = thread::index_1d() as usize;
    if i < n {
        // SAFETY: i < n.
        unsafe { update(data.add(i), a, b, 1) };
    }
}

/// Four elements per thread; `data` is aligned to 16 bytes.
#[kernel]
pub unsafe fn affine_x4(data: *mut f32, n: usize, a: f32, b: f32) {
    // SAFETY: the caller vouches for `n` elements at `data`.
    unsafe { update_four(data, n, a, b, 1) };
}

/// [`affine`] repeated `rounds` times on each element before it is stored: arithmetic set against the same traffic.
#[kernel]
pub unsafe fn affine_rounds(data: *mut f32, n: usize, a: f32, b: f32, rounds: u32) {
    let i = thread::index_1d() as usize;
    if i < n {
        // SAFETY: i < n.
        unsafe { update(data.add(i), a, b, rounds) };
    }
}

/// [`affine_rounds`], four elements per thread.
#[kernel]
pub unsafe fn affine_rounds_x4(data: *mut f32, n: usize, a: f32, b: f32, rounds: u32) {
    // SAFETY: the caller vouches for `n` elements at `data`.
    unsafe { update_four(data, n, a, b, rounds) };
}

/// Updates the thread's group of four elements, or what is left of it at the end of `data`.
///
/// # Safety
/// `data` points to `n` elements, aligned to 16 bytes, which no other thread touches four by four.
#[inline(always)]
unsafe fn update_four(data: *mut f32, n: usize, a: f32, b: f32, rounds: u32) {
    let first = thread::index_1d() as usize * 4;
    if first + 4 <= n {
        // SAFETY: four elements from `first`, a multiple of four.
        let group = unsafe { &mut *data.add(first).cast::<Float4>() };
        let mut x = *group;
        for _ in 0..rounds {
            for x in &mut x.0 {
                *x = a.mul_add(*x, b);
            }
        }
        *group = x;
    } else {
        for i in first..n {
            // SAFETY: i < n.
            unsafe { update(data.add(i), a, b, rounds) };
        }
    }
}

#[inline(always)]
unsafe fn update(element: *mut f32, a: f32, b: f32, rounds: u32) {
    // SAFETY: the caller vouches for `element`.
    let mut x = unsafe { *element };
    for _ in 0..rounds {
        x = a.mul_add(x, b);
    }
    // SAFETY: as above.
    unsafe { *element = x };
}
