//! A step of Jacobi's method on a grid.

use cuda_std::prelude::*;

/// `output = (up + down + left + right) / 4` of `input` in rows `first` to `last` - 1 of a row-major grid, whose rows have `width`
/// elements. Both have a row above `first` and one at `last`; what lies beyond the columns counts as zero.
///
/// A thread walks down a column for `rows_per_thread` rows: a grid of `(ceil(width / threads), ceil((last - first) /
/// rows_per_thread))` blocks of one dimension.
#[kernel]
pub unsafe fn jacobi(
    input: *const f32,
    output: *mut f32,
    width: u32,
    first: u32,
    last: u32,
    rows_per_thread: u32,
) {
    let column = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if column >= width {
        return;
    }
    let start = first + thread::block_idx_y() * rows_per_thread;
    let end = last.min(start + rows_per_thread);
    let width = width as usize;
    let mut row = start;
    while row < end {
        let i = row as usize * width + column as usize;
        // SAFETY: both grids have a row above and below, neighbours in the row are looked at where there are some, and the
        // element is this thread's alone.
        unsafe {
            let input = input.add(i);
            let left = if column > 0 { *input.sub(1) } else { 0.0 };
            let right = if (column as usize) + 1 < width { *input.add(1) } else { 0.0 };
            let sum = (*input.sub(width) + *input.add(width)) + (left + right);
            *output.add(i) = 0.25 * sum;
        }
        row += 1;
    }
}
