//! Values combined across the lanes of a warp.

use cuda_std::warp;

const LANES: u32 = 32;

/// `combine` over the values of a warp's lanes, in every lane: pairs, pairs of pairs, and so on.
///
/// # Safety
/// All 32 lanes call it together.
#[inline(always)]
pub(crate) unsafe fn across_warp(mut value: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
    for bits in [16, 8, 4, 2, 1] {
        // SAFETY: all lanes take part.
        value = combine(value, unsafe {
            warp::warp_shuffle_xor(u32::MAX, value, bits, LANES).0
        });
    }
    value
}
