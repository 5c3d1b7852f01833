//! Many small steps, each of which needs all results of the one before.
//!
//! The elements lie on a ring. In a step each becomes `0.5 x + 0.25 (left + right)`, from one buffer to the other: so a block
//! needs what its neighbours have computed in the step before, and no step may begin before the last one has ended. The
//! kernels differ in who keeps that order:
//!
//! - `relax`: the stream, with a launch for each step, or a graph with a node for each.
//! - `relax_dependent`, in the module of sm_90: the same, but the next launch may begin early and waits itself
//!   (programmatic dependent launch).
//! - `relax_persistent`: one launch for all steps, whose blocks wait for each other between them. All of them must be
//!   resident at the same time, which only a cooperative launch promises.
//!
//! The results of all three are the same bit for bit.
//!
//! `serve_queue` keeps another order: its steps are requests, which the host writes into a queue while the kernel runs.

use cuda_std::GpuFloat;

#[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
pub(crate) mod dependent;
#[cfg(any(not(target_os = "cuda"), not(target_feature = "ptx71")))]
pub(crate) mod plain;
#[cfg(any(not(target_os = "cuda"), not(target_feature = "ptx71")))]
pub(crate) mod queue;

/// Element `i` of `n` after the step, from `x` as it was before.
///
/// # Safety
/// `x` has `n` elements, of which `i` is one, and no thread writes them.
#[inline(always)]
unsafe fn relaxed(x: *const f32, n: usize, i: usize) -> f32 {
    let left = if i == 0 { n - 1 } else { i - 1 };
    let right = if i + 1 == n { 0 } else { i + 1 };
    // SAFETY: all are smaller than n.
    let [left, own, right] = unsafe { [*x.add(left), *x.add(i), *x.add(right)] };
    (left + right).mul_add(0.25, 0.5 * own)
}
