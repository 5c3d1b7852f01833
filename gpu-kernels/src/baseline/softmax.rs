//! Softmax of a matrix's rows: a warp per row, shuffles instead of shared memory.

use cuda_std::extensions::FastFloat;
use cuda_std::prelude::*;
use cuda_std::warp;

use crate::across::across_warp;

const LANES: u32 = 32;

/// Replaces each row of `columns` elements by its softmax, `exp(x - max) / sum of exp(x - max)`. Row `r` begins at
/// `data[r * pitch]`.
///
/// With `causal` not 0 the rows are those of square matrices, one below the other: row `r` sees its first
/// `r % columns + 1` elements, and the rest becomes 0.
///
/// A warp works on the row with its own number in the grid; the launch has `ceil(rows / warps per block)` blocks or more,
/// of a multiple of 32 threads. Each lane adds every 32nd element in ascending order, then the lanes' sums are added
/// pairwise: the same bits on every run.
#[kernel]
pub unsafe fn softmax_rows(data: *mut f32, rows: u32, columns: u32, pitch: u32, causal: u32) {
    let row = thread::index_1d() / LANES;
    if row >= rows {
        return;
    }
    let seen = if causal == 0 {
        columns
    } else {
        row % columns.max(1) + 1
    };
    let data = data.wrapping_add(row as usize * pitch as usize);

    // SAFETY: a warp has one row, so all its lanes are here.
    let (max, sum) = unsafe { max_and_sum(data, seen) };
    let scale = 1.0 / sum;
    let mut column = warp::lane_id();
    while column < columns {
        // SAFETY: column < columns, and the row is this warp's alone.
        let x = unsafe { &mut *data.add(column as usize) };
        *x = if column < seen {
            (*x - max).fast_exp() * scale
        } else {
            0.0
        };
        column += LANES;
    }
}

/// The greatest of the first `n` elements, and the sum of `exp(x - max)`.
///
/// # Safety
/// All 32 lanes call it together, and `data` points to `n` elements.
#[inline(always)]
unsafe fn max_and_sum(data: *const f32, n: u32) -> (f32, f32) {
    let mut max = f32::NEG_INFINITY;
    // SAFETY: the caller's.
    unsafe { for_each(data, n, |x| max = max.max(x)) };
    // SAFETY: all lanes are here.
    let max = unsafe { across_warp(max, f32::max) };
    let mut sum = 0.0;
    // SAFETY: the caller's.
    unsafe { for_each(data, n, |x| sum += (x - max).fast_exp()) };
    // SAFETY: all lanes are here.
    (max, unsafe { across_warp(sum, |a, b| a + b) })
}

/// Visits every 32nd of the first `n` elements, from the lane's own on.
///
/// # Safety
/// `data` points to `n` elements.
#[inline(always)]
unsafe fn for_each(data: *const f32, n: u32, mut visit: impl FnMut(f32)) {
    let mut column = warp::lane_id();
    while column < n {
        // SAFETY: column < n.
        visit(unsafe { *data.add(column as usize) });
        column += LANES;
    }
}
