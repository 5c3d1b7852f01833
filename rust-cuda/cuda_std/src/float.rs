//! Floating-point maths.

/// Float.
pub trait GpuFloat {
    /// `self * a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
}
#[cfg(target_os = "cuda")]
impl GpuFloat for f32 {
    fn mul_add(self, a: Self, b: Self) -> Self {
        core::f32::math::mul_add(self, a, b)
    }
}
