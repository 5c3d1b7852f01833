//! Transcendental functions: `.approx` and `.full` forms, whose bits the PTX ISA does not specify.
//!
//! They are computed in `f64` and rounded, which is more accurate than a GPU, and the same on every machine: the
//! functions of the crate `libm` are written in operations that IEEE 754 defines.

use super::float::{self, Style};

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $function:expr;)*) => {$(
        $(#[$doc])*
        pub(in crate::exec) fn $name<S: Style>(a: f32) -> f32 {
            let function: fn(f64) -> f64 = $function;
            S::output(function(S::input(a).into()) as f32, [a])
        }
    )*};
}

functions! {
    /// `sin`
    sin = libm::sin;
    /// `cos`
    cos = libm::cos;
    /// `lg2`
    lg2 = libm::log2;
    /// `ex2`
    ex2 = libm::exp2;
    /// `tanh`
    tanh = libm::tanh;
    /// `rsqrt`
    rsqrt = |a| 1.0 / a.sqrt();
}

/// `rsqrt.approx.f64`
pub(in crate::exec) fn rsqrt_double<S: Style>(a: f64) -> f64 {
    let a = S::input(a);
    S::output(1.0 / a.sqrt(), [a])
}

/// `rcp.approx.ftz.f64`: a single's worth of bits, the lower half of the result being zero.
pub(in crate::exec) fn rcp_coarse<S: Style>(a: f64) -> f64 {
    let reciprocal: f64 = float::rcp::<f64, S>(a);
    f64::from_bits(reciprocal.to_bits() & !0xffff_ffff)
}

/// `div.approx`: a product with the reciprocal, which is zero for the largest divisors.
pub(in crate::exec) fn div<S: Style>(a: f32, b: f32) -> f32 {
    let (a, b) = (S::input(a), S::input(b));
    let huge = b.abs() > f32::from_bits(0x7e80_0000) && b.abs() <= f32::MAX;
    let quotient = match huge {
        true => a * 0.0f32.copysign(b),
        false => a / b,
    };
    S::output(quotient, [a, b])
}

#[cfg(test)]
mod tests {
    use super::super::float::With;
    use super::*;

    type Plain = With<0, false, false>;

    #[test]
    fn special_values_are_those_of_the_isa() {
        assert_eq!(rsqrt::<Plain>(-0.0), f32::NEG_INFINITY);
        assert_eq!(lg2::<Plain>(-0.0), f32::NEG_INFINITY);
        assert_eq!(ex2::<Plain>(f32::NEG_INFINITY), 0.0);
        assert_eq!(sin::<Plain>(f32::INFINITY).to_bits(), 0x7fff_ffff);
        assert_eq!(tanh::<Plain>(f32::INFINITY), 1.0);
    }

    #[test]
    fn division_by_the_largest_numbers_is_zero() {
        assert_eq!(div::<Plain>(1e38, 1.5e38), 0.0);
        assert!(div::<Plain>(f32::INFINITY, 1.5e38).is_nan());
        assert_eq!(div::<Plain>(3.0, 2.0), 1.5);
    }

    #[test]
    fn a_coarse_reciprocal_has_no_low_bits() {
        assert_eq!(rcp_coarse::<Plain>(3.0).to_bits(), 0x3fd5_5555_0000_0000);
    }
}
