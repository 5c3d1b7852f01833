use cuda_std::prelude::*;
use cuda_std::shared_array;

/// A pair of columns.
type Pair = [f32; 2];

/// As `naive`, two columns a thread, with arrays whose type and length are the function's.
#[kernel]
pub unsafe fn wide(a: &[f32], b: &[f32], c: *mut f32, n: usize, alpha: f32, beta: f32) {
    const SIDE: usize = 8;
    type Row = [f32; SIDE];

    let of_a = shared_array![Row; SIDE];
    let of_b = shared_array![Pair; SIDE * SIDE];
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let row = thread::block_idx_y() as usize * SIDE + y;
    let column = 2 * (thread::block_idx_x() as usize * SIDE + x);

    let read = |matrix: &[f32], row: usize, column: usize| {
        if row < n && column < n { matrix[row * n + column] } else { 0.0 }
    };
    let mut sums = [0.0; 2];
    for start in (0..n).step_by(SIDE) {
        unsafe {
            (*of_a.add(y))[x] = read(a, row, start + x);
            *of_b.add(y * SIDE + x) = [read(b, start + y, column), read(b, start + y, column + 1)];
        }
        thread::sync_threads();
        for k in 0..SIDE {
            let (left, right) = unsafe { ((*of_a.add(y))[k], *of_b.add(k * SIDE + x)) };
            sums[0] += left * right[0];
            sums[1] += left * right[1];
        }
        thread::sync_threads();
    }
    for (offset, sum) in sums.into_iter().enumerate() {
        if row < n && column + offset < n {
            let c = unsafe { &mut *c.add(row * n + column + offset) };
            *c = alpha * sum + beta * *c;
        }
    }
}
