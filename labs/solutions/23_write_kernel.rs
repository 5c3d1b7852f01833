//! A kernel in Rust: each thread makes one element, the mean of an element and its two neighbours. At both ends, where a
//! neighbour is missing, the element itself takes its place. The grid has more threads than there are elements, so each
//! thread has to look first. The host copies, launches and checks; this file is device code, and nothing but that.
//!
//! ```text
//! x    3  6  9  0
//! out  4  6  5  3         (3+3+6)/3  (3+6+9)/3  (6+9+0)/3  (9+0+0)/3
//! ```

#![no_std]

use cuda_std::prelude::*;

/// `out[i] = (x[i - 1] + x[i] + x[i + 1]) / 3`; `out` is as long as `x`.
#[kernel]
pub unsafe fn smooth(x: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let left = if i > 0 { x[i - 1] } else { x[i] };
        let right = if i + 1 < x.len() { x[i + 1] } else { x[i] };
        let mean = (left + x[i] + right) / 3.0;
        // SAFETY: `out` has an element for each of `x`, and this one is this thread's alone.
        unsafe { *out.add(i) = mean };
    }
}
