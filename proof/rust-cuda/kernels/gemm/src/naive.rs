use cuda_std::kernel;
use cuda_std::thread;

/// `c = alpha a b + beta c`, square matrices of `n` rows, one element a thread.
#[kernel]
pub unsafe fn naive(a: &[f32], b: &[f32], c: *mut f32, n: usize, alpha: f32, beta: f32) {
    let index = thread::index_2d().as_usizevec2();
    let (column, row) = (index.x, index.y);
    if row < n && column < n {
        let mut sum = 0.0;
        for k in 0..n {
            sum += a[row * n + k] * b[k * n + column];
        }
        let c = unsafe { &mut *c.add(row * n + column) };
        *c = alpha * sum + beta * *c;
    }
}
