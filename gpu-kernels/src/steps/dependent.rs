//! The kernel of [`steps`](super) for programmatic dependent launch, for sm_90 and later.

use cuda_std::extensions::grid_dependency;
use cuda_std::prelude::*;

use super::relaxed;

/// One step, from `x` to `y`, of `n` elements, one per thread. Launched with programmatic stream serialisation, it begins while
/// the step before still runs, and waits for its results before it reads or writes anything.
#[kernel]
pub unsafe fn relax_dependent(x: *const f32, y: *mut f32, n: usize) {
    // The next step may take its places now: it waits as well.
    grid_dependency::launch_dependents();
    let i = thread::index_1d() as usize;
    grid_dependency::wait();
    if i < n {
        // SAFETY: both buffers have n elements, and the step before has ended.
        unsafe { *y.add(i) = relaxed(x, n, i) };
    }
}
