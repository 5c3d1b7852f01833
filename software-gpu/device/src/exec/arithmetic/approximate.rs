//! Transcendental functions: `.approx` and `.full` forms, whose bits the PTX ISA does not specify.
//!
//! They are computed in `f64` and rounded, which is more accurate than a GPU, and the same on every machine: the
//! functions of the crate `libm` are written in operations that IEEE 754 defines.

use super::float::{self, Style};

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $function:expr;)*) => {$(
        $(#[$doc])*
        pub(in crate::exec) fn $name<S: Style>(style: S, a: f32) -> f32 {
            let function: fn(f64) -> f64 = $function;
            style.output(function(style.input(a).into()) as f32, [a])
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
pub(in crate::exec) fn rsqrt_double<S: Style>(style: S, a: f64) -> f64 {
    let a = style.input(a);
    style.output(1.0 / a.sqrt(), [a])
}

/// `rcp.approx.ftz.f64`: a single's worth of bits, the lower half of the result being zero.
pub(in crate::exec) fn rcp_coarse<S: Style>(style: S, a: f64) -> f64 {
    let reciprocal: f64 = float::rcp(style, a);
    f64::from_bits(reciprocal.to_bits() & !0xffff_ffff)
}

/// `div.approx`: a product with the reciprocal, which is zero for the largest divisors.
pub(in crate::exec) fn div<S: Style>(style: S, a: f32, b: f32) -> f32 {
    let (a, b) = (style.input(a), style.input(b));
    let huge = b.abs() > f32::from_bits(0x7e80_0000) && b.abs() <= f32::MAX;
    let quotient = match huge {
        true => a * 0.0f32.copysign(b),
        false => a / b,
    };
    style.output(quotient, [a, b])
}

#[cfg(test)]
mod tests {
    use super::super::float::With;
    use super::*;

    const PLAIN: With<false, false> = With;

    #[test]
    fn special_values_are_those_of_the_isa() {
        assert_eq!(rsqrt(PLAIN, -0.0), f32::NEG_INFINITY);
        assert_eq!(lg2(PLAIN, -0.0), f32::NEG_INFINITY);
        assert_eq!(ex2(PLAIN, f32::NEG_INFINITY), 0.0);
        assert_eq!(sin(PLAIN, f32::INFINITY).to_bits(), 0x7fff_ffff);
        assert_eq!(tanh(PLAIN, f32::INFINITY), 1.0);
    }

    #[test]
    fn division_by_the_largest_numbers_is_zero() {
        assert_eq!(div(PLAIN, 1e38, 1.5e38), 0.0);
        assert!(div(PLAIN, f32::INFINITY, 1.5e38).is_nan());
        assert_eq!(div(PLAIN, 3.0, 2.0), 1.5);
    }

    #[test]
    fn a_coarse_reciprocal_has_no_low_bits() {
        assert_eq!(rcp_coarse(PLAIN, 3.0).to_bits(), 0x3fd5_5555_0000_0000);
    }
}
