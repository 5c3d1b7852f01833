//! The kernel of [`tiles`](super) whose producer warp issues `cp.async` copies, for sm_80 and later.

use cuda_std::extensions::async_copy;
use cuda_std::prelude::*;

use super::ring::{LANES, Ring};
use super::{Array, CONSUMERS, TILE};

/// What each lane of the producer warp copies of a tile, in groups of four elements.
const GROUPS: u32 = TILE / 4 / LANES;

/// `output[i]` from `input[i]`; the producer warp copies 16 bytes per lane and instruction (`cp.async`). Blocks of
/// [`CONSUMERS`] threads that compute, and 32.
#[kernel(launch_bounds(288))]
pub unsafe fn fma_tiles_cp_async(input: &[f32], output: *mut f32, rounds: u32) {
    let array = Array::new(input, output);
    let mut ring = Ring::new();
    let t = thread::thread_idx_x();
    // SAFETY: the launch vouches for the array; all threads of the block are here, whole warps take each side.
    unsafe {
        if t == 0 {
            ring.initialise(LANES);
        }
        thread::sync_threads();
        if t < CONSUMERS {
            return ring.consume(array, rounds);
        }
        let own = 4 * (t - CONSUMERS);
        array.for_each_tile(|first, len| {
            ring.empty().wait_parity(ring.at.parity ^ 1);
            let (tile, from) = (ring.tile().add(own), array.input.add(first + own as usize));
            for group in 0..GROUPS {
                let at = 4 * LANES * group;
                if own + at < len {
                    async_copy::copy_16(tile.add(at), from.add(at as usize));
                }
            }
            ring.full().arrive_after_copies();
            ring.advance();
        });
    }
}
