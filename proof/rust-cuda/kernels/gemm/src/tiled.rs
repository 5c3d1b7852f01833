use cuda_std::address_space;
use cuda_std::kernel;
use cuda_std::thread;

/// As `naive`, with tiles of 16 × 16 in shared statics of the function.
#[kernel]
pub unsafe fn tiled(a: &[f32], b: &[f32], c: *mut f32, n: usize, alpha: f32, beta: f32) {
    const SIDE: usize = 16;

    #[address_space(shared)]
    static mut OF_A: [f32; SIDE * SIDE] = [0.0; SIDE * SIDE];
    #[address_space(shared)]
    static mut OF_B: [[f32; SIDE]; SIDE] = [[0.0; SIDE]; SIDE];

    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let row = thread::block_idx_y() as usize * SIDE + y;
    let column = thread::block_idx_x() as usize * SIDE + x;

    let mut sum = 0.0;
    for start in (0..n).step_by(SIDE) {
        let inside = |row: usize, column: usize| row < n && column < n;
        unsafe {
            OF_A[y * SIDE + x] = if inside(row, start + x) { a[row * n + start + x] } else { 0.0 };
            OF_B[y][x] = if inside(start + y, column) { b[(start + y) * n + column] } else { 0.0 };
        }
        thread::sync_threads();
        for k in 0..SIDE {
            sum += unsafe { OF_A[y * SIDE + k] * OF_B[k][x] };
        }
        thread::sync_threads();
    }
    if row < n && column < n {
        let c = unsafe { &mut *c.add(row * n + column) };
        *c = alpha * sum + beta * *c;
    }
}
