//! A step repeated as often as the launch says.

/// The factor of the step in kernels whose step is not a parameter.
pub const FACTOR: f32 = 0.999_755_9;

/// The summand of that step.
pub const SUMMAND: f32 = 0.000_244_140_63;

/// Steps per pass of the loop, whose counting and branching costs three instructions. nvcc unrolls such loops 16 times,
/// LLVM by itself 8 times.
const UNROLLED: u32 = 32;

/// `step` applied to `x`, `rounds` times.
#[inline(always)]
pub(crate) fn repeat<T>(rounds: u32, mut x: T, step: impl Fn(T) -> T) -> T {
    for _ in 0..rounds / UNROLLED {
        for _ in 0..UNROLLED {
            x = step(x);
        }
    }
    for _ in 0..rounds % UNROLLED {
        x = step(x);
    }
    x
}
