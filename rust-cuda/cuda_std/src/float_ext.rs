//! Functions on floats that std does not have.

use crate::float::Sealed;

macro_rules! declare {
    ($($(#[$doc:meta])* fn $method:ident(self $(, $argument:ident: $type:ty)*) -> $result:ty;)*) => {
        /// Special functions and the like, by the names of Rust-CUDA. They are software, on the GPU and on the host alike: those of
        /// the crate `libm`, and what follows from them.
        pub trait FloatExt: Sized + Sealed {
            $($(#[$doc])* fn $method(self $(, $argument: $type)*) -> $result;)*
        }
    };
}

declare! {
    /// The cosine of `self · π`.
    fn cospi(self) -> Self;
    /// The error function.
    fn error_function(self) -> Self;
    /// 1 minus the error function, without cancellation.
    fn complementary_error_function(self) -> Self;
    /// The number whose complementary error function is `self`, for 0 to 2.
    fn inv_complementary_error_function(self) -> Self;
    /// The complementary error function times e to the power `self²`.
    fn scaled_complementary_error_function(self) -> Self;
    /// A fraction of magnitude 0.5 to 1, or 0, and the power of two to multiply it with.
    fn frexp(self) -> (Self, i32);
    /// The exponent of `self`, a power of two times 1 to 2.
    fn unbiased_exp(self) -> i32;
    /// The Bessel function of the first kind, of order 0.
    fn j0(self) -> Self;
    /// The Bessel function of the first kind, of order 1.
    fn j1(self) -> Self;
    /// The Bessel function of the first kind.
    fn jn(self, order: i32) -> Self;
    /// `self` times 2 to the power `exp`.
    fn ldexp(self, exp: i32) -> Self;
    /// The logarithm of the gamma function's magnitude.
    fn log_gamma(self) -> Self;
    /// `(1 + self).ln()`, exact near 0.
    fn log1p(self) -> Self;
    /// The standard normal distribution.
    fn norm_cdf(self) -> Self;
    /// The number at which the standard normal distribution is `self`, for 0 to 1.
    fn inv_norm_cdf(self) -> Self;
    /// `1 / self.cbrt()`.
    fn rcbrt(self) -> Self;
    /// `self` within 0 and 1; 0 for NaN.
    fn saturate(self) -> Self;
    /// `self` times 2 to the power `exp`.
    fn scale_by_n(self, exp: i32) -> Self;
    /// Sine and cosine of `self · π`.
    fn sincospi(self) -> (Self, Self);
    /// The sine of `self · π`.
    fn sinpi(self) -> Self;
    /// The gamma function.
    fn gamma(self) -> Self;
    /// The Bessel function of the second kind, of order 0.
    fn y0(self) -> Self;
    /// The Bessel function of the second kind, of order 1.
    fn y1(self) -> Self;
    /// The Bessel function of the second kind.
    fn yn(self, order: i32) -> Self;
}

/// What is computed in `f64` and rounded once for `f32`.
mod wide {
    use core::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

    /// Sine and cosine of `x · π`: the angle is reduced to a quarter turn exactly before it is multiplied with π.
    pub(super) fn sincospi(x: f64) -> (f64, f64) {
        let quarters = libm::rint(2.0 * libm::fmod(x, 2.0));
        let (sin, cos) = libm::sincos((libm::fmod(x, 2.0) - 0.5 * quarters) * PI);
        match quarters as i32 & 3 {
            0 => (sin, cos),
            1 => (cos, -sin),
            2 => (-sin, -cos),
            _ => (-cos, sin),
        }
    }

    /// From 26 on by the asymptotic series, whose terms fall below the last digit there; before by its definition.
    pub(super) fn erfcx(x: f64) -> f64 {
        if x < 26.0 {
            return libm::exp(x * x) * libm::erfc(x);
        }
        let square = 1.0 / (2.0 * x * x);
        0.5 * FRAC_2_SQRT_PI / x * (1.0 - square * (1.0 - 3.0 * square * (1.0 - 5.0 * square)))
    }

    pub(super) fn norm_cdf(x: f64) -> f64 {
        0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
    }

    /// Newton's method on the logarithms, which are nearly a parabola.
    pub(super) fn erfcinv(y: f64) -> f64 {
        match y {
            _ if !(0.0..=2.0).contains(&y) => return f64::NAN,
            0.0 => return f64::INFINITY,
            2.0 => return f64::NEG_INFINITY,
            _ if y > 1.0 => return -erfcinv(2.0 - y),
            _ => {}
        }
        let logarithm = libm::log(y);
        let mut x = libm::sqrt(-logarithm) * 0.9;
        for _ in 0..8 {
            let value = libm::erfc(x);
            let slope = -FRAC_2_SQRT_PI * libm::exp(-x * x);
            x -= (libm::log(value) - logarithm) * value / slope;
        }
        x
    }

    pub(super) fn inv_norm_cdf(p: f64) -> f64 {
        -core::f64::consts::SQRT_2 * erfcinv(2.0 * p)
    }
}

macro_rules! implement {
    ($type:ident; $($method:ident($($argument:ident: $of:ty),*) -> $result:ty = $libm:expr;)*) => {
        impl FloatExt for $type {
            $(fn $method(self $(, $argument: $of)*) -> $result { $libm(self $(, $argument)*) })*

            fn cospi(self) -> Self {
                self.sincospi().1
            }

            fn sinpi(self) -> Self {
                self.sincospi().0
            }

            fn sincospi(self) -> (Self, Self) {
                let (sin, cos) = wide::sincospi(self as f64);
                (sin as $type, cos as $type)
            }

            fn inv_complementary_error_function(self) -> Self {
                wide::erfcinv(self as f64) as $type
            }

            fn scaled_complementary_error_function(self) -> Self {
                wide::erfcx(self as f64) as $type
            }

            fn norm_cdf(self) -> Self {
                wide::norm_cdf(self as f64) as $type
            }

            fn inv_norm_cdf(self) -> Self {
                wide::inv_norm_cdf(self as f64) as $type
            }

            fn saturate(self) -> Self {
                // `max` gives the number beside a NaN.
                self.max(0.0).min(1.0)
            }
        }
    };
}

implement! { f32;
    error_function() -> f32 = libm::erff;
    complementary_error_function() -> f32 = libm::erfcf;
    frexp() -> (f32, i32) = libm::frexpf;
    unbiased_exp() -> i32 = libm::ilogbf;
    j0() -> f32 = libm::j0f;
    j1() -> f32 = libm::j1f;
    jn(order: i32) -> f32 = |x, n| libm::jnf(n, x);
    ldexp(exp: i32) -> f32 = libm::ldexpf;
    log_gamma() -> f32 = libm::lgammaf;
    log1p() -> f32 = libm::log1pf;
    rcbrt() -> f32 = |x| 1.0 / libm::cbrtf(x);
    scale_by_n(exp: i32) -> f32 = libm::scalbnf;
    gamma() -> f32 = libm::tgammaf;
    y0() -> f32 = libm::y0f;
    y1() -> f32 = libm::y1f;
    yn(order: i32) -> f32 = |x, n| libm::ynf(n, x);
}

implement! { f64;
    error_function() -> f64 = libm::erf;
    complementary_error_function() -> f64 = libm::erfc;
    frexp() -> (f64, i32) = libm::frexp;
    unbiased_exp() -> i32 = libm::ilogb;
    j0() -> f64 = libm::j0;
    j1() -> f64 = libm::j1;
    jn(order: i32) -> f64 = |x, n| libm::jn(n, x);
    ldexp(exp: i32) -> f64 = libm::ldexp;
    log_gamma() -> f64 = libm::lgamma;
    log1p() -> f64 = libm::log1p;
    rcbrt() -> f64 = |x| 1.0 / libm::cbrt(x);
    scale_by_n(exp: i32) -> f64 = libm::scalbn;
    gamma() -> f64 = libm::tgamma;
    y0() -> f64 = libm::y0;
    y1() -> f64 = libm::y1;
    yn(order: i32) -> f64 = |x, n| libm::yn(n, x);
}

#[cfg(test)]
mod tests {
    use super::FloatExt;

    fn near(found: f64, expected: f64) {
        let error = (found - expected).abs() / expected.abs().max(1.0);
        assert!(error < 1e-14, "{found} for {expected}");
    }

    #[test]
    fn half_turns_are_exact() {
        assert_eq!(0.5f64.sinpi(), 1.0);
        assert_eq!(0.5f64.cospi(), 0.0);
        assert_eq!(1.0f32.sinpi(), 0.0);
        assert_eq!((-1.5f64).sinpi(), 1.0);
        assert_eq!(1e15f64.cospi(), 1.0);
        near(0.25f64.sinpi(), core::f64::consts::FRAC_1_SQRT_2);
        near((-0.25f64).sinpi(), -core::f64::consts::FRAC_1_SQRT_2);
        near(1.25f64.cospi(), -core::f64::consts::FRAC_1_SQRT_2);
    }

    #[test]
    fn inverse_distributions_undo_their_functions() {
        for x in [-5.0, -2.0, -0.7, -0.01, 0.0, 0.3, 1.0, 3.0, 5.5] {
            let y = f64::complementary_error_function(x);
            let back = y.inv_complementary_error_function();
            // Near 2 the function is flat: its last digit spans many arguments.
            let slack = 4.0 * f64::EPSILON / (-x * x).exp();
            assert!(
                (back - x).abs() < 1e-13 + if x < 0.0 { slack } else { 0.0 },
                "{x}: {back}"
            );
        }
        near(0.975f64.inv_norm_cdf(), 1.959_963_984_540_054);
        near(0.5f64.inv_norm_cdf(), 0.0);
        near(1.96f64.norm_cdf(), 0.975_002_104_851_779_5);
        assert_eq!(0.0f64.inv_complementary_error_function(), f64::INFINITY);
        assert!((-0.1f64).inv_complementary_error_function().is_nan());
        let far = 1e-300f64.inv_complementary_error_function();
        let back = far.complementary_error_function();
        // The function falls by a factor of e every 1/52 there.
        assert!((back / 1e-300 - 1.0).abs() < 1e-12, "{far}: {back}");
    }

    #[test]
    fn the_scaled_function_joins_its_series() {
        near(
            10.0f64.scaled_complementary_error_function(),
            0.056_140_992_743_822_58,
        );
        let (before, after) = (25.999_999_f64, 26.000_001_f64);
        let ratio = before.scaled_complementary_error_function()
            / after.scaled_complementary_error_function();
        assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
        near(
            100.0f64.scaled_complementary_error_function(),
            0.005_641_613_782_989_433,
        );
    }

    #[test]
    fn saturation_takes_nan_to_zero() {
        assert_eq!(
            [-1.0, 0.25, 7.0, f32::NAN].map(FloatExt::saturate),
            [0.0, 0.25, 1.0, 0.0]
        );
    }
}
