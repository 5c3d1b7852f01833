//! Maths on `f32` and `f64`.
//!
//! [`GpuFloat`] has the names and the meaning of std's methods. What PTX rounds correctly is exact: `floor`, `ceil`,
//! `round`, `trunc`, `fract`, `abs`, `signum`, `copysign`, `mul_add` (`fma.rn`), `sqrt` (`sqrt.rn`) and what they are
//! made of. The others are those of the crate `libm`, a port of musl's: below 1 ulp, except `powf`, `tan`, `sinh`,
//! `cosh`, `tanh` and the inverse hyperbolic functions, below 2 ulp. They are software, since NVIDIA's libdevice is
//! not linked; where speed counts more than the last digits, [`FastFloat`](crate::extensions::FastFloat) is the hardware's approximation.
//!
//! `a * b + c` becomes an FMA, as with nvcc, unless the build script says `fma_contraction(false)`; `mul_add` is one in any case.
//!
//! PTX ISA, *Floating Point Instructions*.

pub(crate) use private::Sealed;

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

macro_rules! declare {
    ($($(#[$doc:meta])* fn $method:ident(self $(, $argument:ident: $type:ty)*) -> $result:ty;)*) => {
        /// The methods of std's `f32` and `f64` which `core` lacks.
        pub trait GpuFloat: Copy + PartialOrd + private::Sealed {
            $($(#[$doc])* fn $method(self $(, $argument: $type)*) -> $result;)*
        }

        /// On the host they are std's.
        #[cfg(not(target_os = "cuda"))]
        impl GpuFloat for f32 {
            $(fn $method(self $(, $argument: $type)*) -> $result { f32::$method(self $(, $argument)*) })*
        }

        /// On the host they are std's.
        #[cfg(not(target_os = "cuda"))]
        impl GpuFloat for f64 {
            $(fn $method(self $(, $argument: $type)*) -> $result { f64::$method(self $(, $argument)*) })*
        }
    };
}

declare! {
    /// The greatest integer not above `self` (PTX `cvt.rmi`).
    fn floor(self) -> Self;
    /// The least integer not below `self` (PTX `cvt.rpi`).
    fn ceil(self) -> Self;
    /// The nearest integer, halves away from zero.
    fn round(self) -> Self;
    /// The integer part (PTX `cvt.rzi`).
    fn trunc(self) -> Self;
    /// `self - self.trunc()`.
    fn fract(self) -> Self;
    /// The magnitude (PTX `abs`).
    fn abs(self) -> Self;
    /// 1 or -1 by the sign bit; NaN of NaN.
    fn signum(self) -> Self;
    /// The magnitude of `self` with the sign of `sign` (PTX `copysign`).
    fn copysign(self, sign: Self) -> Self;
    /// `self * a + b`, rounded once (PTX `fma.rn`).
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The quotient whose remainder is [`rem_euclid`](Self::rem_euclid).
    fn div_euclid(self, rhs: Self) -> Self;
    /// The remainder that is not negative.
    fn rem_euclid(self, rhs: Self) -> Self;
    /// `self` to an integer power, by repeated squaring.
    fn powi(self, n: i32) -> Self;
    /// `self` to a power.
    fn powf(self, n: Self) -> Self;
    /// The square root (PTX `sqrt.rn`).
    fn sqrt(self) -> Self;
    /// e to the power `self`.
    fn exp(self) -> Self;
    /// 2 to the power `self`.
    fn exp2(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// The logarithm to `base`: a quotient of two natural ones.
    fn log(self, base: Self) -> Self;
    /// The logarithm to base 2.
    fn log2(self) -> Self;
    /// The logarithm to base 10.
    fn log10(self) -> Self;
    /// The cube root.
    fn cbrt(self) -> Self;
    /// The length of the hypotenuse over legs `self` and `other`.
    fn hypot(self, other: Self) -> Self;
    /// The sine of an angle in radians.
    fn sin(self) -> Self;
    /// The cosine of an angle in radians.
    fn cos(self) -> Self;
    /// The tangent of an angle in radians.
    fn tan(self) -> Self;
    /// The angle in radians, of -π/2 to π/2, whose sine is `self`.
    fn asin(self) -> Self;
    /// The angle in radians, of 0 to π, whose cosine is `self`.
    fn acos(self) -> Self;
    /// The angle in radians, of -π/2 to π/2, whose tangent is `self`.
    fn atan(self) -> Self;
    /// The angle in radians of the point (`other`, `self`).
    fn atan2(self, other: Self) -> Self;
    /// Sine and cosine.
    fn sin_cos(self) -> (Self, Self);
    /// `self.exp() - 1`, exact near 0.
    fn exp_m1(self) -> Self;
    /// `(1 + self).ln()`, exact near 0.
    fn ln_1p(self) -> Self;
    /// The hyperbolic sine.
    fn sinh(self) -> Self;
    /// The hyperbolic cosine.
    fn cosh(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The inverse hyperbolic sine.
    fn asinh(self) -> Self;
    /// The inverse hyperbolic cosine.
    fn acosh(self) -> Self;
    /// The inverse hyperbolic tangent.
    fn atanh(self) -> Self;
}

#[cfg(target_os = "cuda")]
macro_rules! implement {
    ($type:ident; $sin_cos:ident; $($method:ident($($argument:ident),*) = $libm:ident;)*) => {
        impl GpuFloat for $type {
            implement! { @core $type, floor() ceil() round() trunc() fract() mul_add(a, b) div_euclid(rhs)
                rem_euclid(rhs) sqrt() }

            #[inline(always)]
            fn abs(self) -> Self {
                $type::abs(self)
            }

            #[inline(always)]
            fn signum(self) -> Self {
                $type::signum(self)
            }

            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                $type::copysign(self, sign)
            }

            #[inline]
            fn powi(self, n: i32) -> Self {
                let mut power = if n < 0 { 1.0 / self } else { self };
                let (mut result, mut n) = (1.0, n.unsigned_abs());
                while n != 0 {
                    if n & 1 == 1 {
                        result *= power;
                    }
                    power *= power;
                    n >>= 1;
                }
                result
            }

            #[inline]
            fn log(self, base: Self) -> Self {
                GpuFloat::ln(self) / GpuFloat::ln(base)
            }

            #[inline]
            fn sin_cos(self) -> (Self, Self) {
                libm::$sin_cos(self)
            }

            $(
                #[inline]
                fn $method(self $(, $argument: Self)*) -> Self {
                    libm::$libm(self $(, $argument)*)
                }
            )*
        }
    };
    (@core $type:ident, $($method:ident($($argument:ident),*))*) => {$(
        #[inline(always)]
        fn $method(self $(, $argument: Self)*) -> Self {
            core::$type::math::$method(self $(, $argument)*)
        }
    )*};
}

#[cfg(target_os = "cuda")]
implement! {
    f32; sincosf;
    powf(n) = powf; exp() = expf; exp2() = exp2f; ln() = logf; log2() = log2f; log10() = log10f; cbrt() = cbrtf;
    hypot(other) = hypotf; sin() = sinf; cos() = cosf; tan() = tanf; asin() = asinf; acos() = acosf; atan() = atanf;
    atan2(other) = atan2f; exp_m1() = expm1f; ln_1p() = log1pf; sinh() = sinhf; cosh() = coshf; tanh() = tanhf;
    asinh() = asinhf; acosh() = acoshf; atanh() = atanhf;
}

#[cfg(target_os = "cuda")]
implement! {
    f64; sincos;
    powf(n) = pow; exp() = exp; exp2() = exp2; ln() = log; log2() = log2; log10() = log10; cbrt() = cbrt;
    hypot(other) = hypot; sin() = sin; cos() = cos; tan() = tan; asin() = asin; acos() = acos; atan() = atan;
    atan2(other) = atan2; exp_m1() = expm1; ln_1p() = log1p; sinh() = sinh; cosh() = cosh; tanh() = tanh;
    asinh() = asinh; acosh() = acosh; atanh() = atanh;
}
