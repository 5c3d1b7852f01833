//! The kernel of [`tiles`](super) whose producer issues bulk copies, for sm_90 and later.

use cuda_std::extensions::{bulk, fence};
use cuda_std::prelude::*;

use super::ring::Ring;
use super::{Array, CONSUMERS};

/// `output[i]` from `input[i]`; one thread issues one copy per tile (`cp.async.bulk`). Blocks of [`CONSUMERS`] threads that
/// compute, and 32.
#[kernel(launch_bounds(288))]
pub unsafe fn fma_tiles_bulk(input: &[f32], output: *mut f32, rounds: u32) {
    let array = Array::new(input, output);
    let mut ring = Ring::new();
    let t = thread::thread_idx_x();
    // SAFETY: the launch vouches for the array; all threads of the block are here, whole warps take each side.
    unsafe {
        if t == 0 {
            ring.initialise(1);
            fence::mbarrier_init();
        }
        thread::sync_threads();
        if t < CONSUMERS {
            return ring.consume(array, rounds);
        }
        if t > CONSUMERS {
            return;
        }
        array.for_each_tile(|first, len| {
            ring.empty().wait_parity(ring.at.parity ^ 1);
            // The consumers read the stage as threads do, the copy writes it through the async proxy: the barrier alone does
            // not order the two, and on an H200 a copy without this fence has overtaken reads.
            fence::proxy_async_shared();
            let bytes = len * size_of::<f32>() as u32;
            ring.full().arrive_expect_tx(bytes);
            bulk::copy_to_shared(ring.tile(), array.input.add(first), bytes, ring.full());
            ring.advance();
        });
    }
}
