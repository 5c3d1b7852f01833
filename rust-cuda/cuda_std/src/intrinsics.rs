//! Mathematical functions by the names of NVIDIA's libdevice, less its prefix `__nv_`.
//!
//! libdevice itself is not linked. What is one instruction with a rounding mode (`fadd_rd`, `double2int_rz`, ..) is that
//! instruction, and what is arithmetic of integers or of bits is Rust's: both give libdevice's bits. `fast_..` are the approximate
//! instructions that libdevice uses, see [`FastFloat`] for their errors. The rest is software:
//!
//! - functions of the crate `libm` (`sin`, `exp`, `pow`, `erf`, `j0`, ..), as [`GpuFloat`] and [`FloatExt`] have them. For `f32`, found
//!   by comparison with `f64`: within 1 ulp; `powf`, `tanf` and the hyperbolic functions within 2; `erfcf` and `exp10f` within 3;
//!   `tgammaf` within 10; `lgammaf` and Bessel functions lose relative accuracy near their zeros. Those of `f64` are musl's and
//!   CORE-MATH's, and were not compared with anything wider;
//! - what is made of them in `f64` (`erfinv`, `erfcinv`, `erfcx`, `normcdf`, `normcdfinv`, `norm3d`, `cyl_bessel_i0`, ..): rounded once for
//!   `f32`;
//! - reciprocals (`rsqrt`, `rcbrt`, `rhypot`, ..): two roundings, 1.5 ulp; `frsqrt_rn` is rounded from `f64`.
//!
//! So the last digits differ from libdevice's, and they take more time. As in Rust-CUDA, integers are signed whatever they mean, and
//! all functions are unsafe, though only those with pointers ask for something.
//!
//! On the host, too, these functions compute, except for the instructions with a rounding mode, which panic there.
//!
//! NVIDIA, *libdevice User's Guide*.

use crate::extensions::FastFloat;
use crate::{FloatExt, GpuFloat};

macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty = $value:expr;)*) => {$(
        #[doc = concat!("libdevice's `__nv_", stringify!($name), "`.")]
        ///
        /// # Safety
        /// Pointers, if there are any, are valid for what is stored or read.
        #[inline]
        pub unsafe fn $name($($argument: $type),*) -> $result {
            // SAFETY: the caller's; most functions need none.
            #[allow(unused_unsafe, clippy::double_parens)]
            unsafe {
                $value
            }
        }
    )*};
}

macro_rules! instructions {
    ($($name:ident($($argument:ident: $type:ty as $register:ident),*) -> $result:ty as $in:ident = $instruction:literal;)*) => {$(
        #[doc = concat!("libdevice's `__nv_", stringify!($name), "` (PTX `", $instruction, "`).")]
        ///
        /// # Safety
        /// None.
        #[crate::gpu_only]
        pub unsafe fn $name($($argument: $type),*) -> $result {
            let result;
            // SAFETY: arithmetic on registers.
            unsafe {
                core::arch::asm!(
                    $instruction,
                    out($in) result,
                    $(in($register) $argument,)*
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            result
        }
    )*};
}

/// Four of the eight bytes of `x` and `y`, selected by three bits of each half byte of `selector`.
fn bytes_of(x: i32, y: i32, selector: i32) -> i32 {
    let bytes = u64::from(x as u32) | u64::from(y as u32) << 32;
    let byte = |n: u32| (bytes >> (8 * ((selector as u32 >> (4 * n)) & 7))) as u32 & 0xff;
    (byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24) as i32
}

/// What is computed in `f64` and rounded once for `f32`.
mod wide {
    use core::f64::consts::FRAC_2_SQRT_PI;

    use crate::FloatExt;

    /// Newton's method near 0, where the function is nearly a line, and the inverse of the complement beyond.
    pub(super) fn erfinv(y: f64) -> f64 {
        if y.abs() >= 0.5 {
            return libm::copysign((1.0 - y.abs()).inv_complementary_error_function(), y);
        }
        let mut x = y / FRAC_2_SQRT_PI;
        for _ in 0..5 {
            x -= (libm::erf(x) - y) / (FRAC_2_SQRT_PI * libm::exp(-x * x));
        }
        x
    }

    pub(super) fn logb(x: f64) -> f64 {
        match x {
            0.0 => f64::NEG_INFINITY,
            _ if x.is_nan() => x,
            _ if x.is_infinite() => f64::INFINITY,
            _ => f64::from(libm::ilogb(x)),
        }
    }

    /// The modified Bessel function of the first kind, of order 0 or 1, by its series, whose terms are all of one sign.
    pub(super) fn bessel_i(x: f64, order: u32) -> f64 {
        let square = 0.25 * x * x;
        let mut term = if order == 0 { 1.0 } else { 0.5 * x };
        let mut sum = term;
        let mut k = 1.0;
        while term.abs() > sum.abs() * 0.25 * f64::EPSILON && sum.is_finite() {
            term *= square / (k * (k + f64::from(order)));
            sum += term;
            k += 1.0;
        }
        sum
    }

    pub(super) fn norm(values: &[f64]) -> f64 {
        values
            .iter()
            .fold(0.0, |length, &value| libm::hypot(length, value))
    }

    pub(super) fn norm_f32(values: &[f32]) -> f64 {
        values
            .iter()
            .fold(0.0, |length, &value| libm::hypot(length, f64::from(value)))
    }
}

functions! {
    abs(x: i32) -> i32 = x.wrapping_abs();
    acos(x: f64) -> f64 = libm::acos(x);
    acosf(x: f32) -> f32 = libm::acosf(x);
    acosh(x: f64) -> f64 = libm::acosh(x);
    acoshf(x: f32) -> f32 = libm::acoshf(x);
    asin(x: f64) -> f64 = libm::asin(x);
    asinf(x: f32) -> f32 = libm::asinf(x);
    asinh(x: f64) -> f64 = libm::asinh(x);
    asinhf(x: f32) -> f32 = libm::asinhf(x);
    atan(x: f64) -> f64 = libm::atan(x);
    atan2(x: f64, y: f64) -> f64 = libm::atan2(x, y);
    atan2f(x: f32, y: f32) -> f32 = libm::atan2f(x, y);
    atanf(x: f32) -> f32 = libm::atanf(x);
    atanh(x: f64) -> f64 = libm::atanh(x);
    atanhf(x: f32) -> f32 = libm::atanhf(x);
    brev(x: i32) -> i32 = x.reverse_bits();
    brevll(x: i64) -> i64 = x.reverse_bits();
    byte_perm(x: i32, y: i32, z: i32) -> i32 = bytes_of(x, y, z);
    cbrt(x: f64) -> f64 = libm::cbrt(x);
    cbrtf(x: f32) -> f32 = libm::cbrtf(x);
    ceil(x: f64) -> f64 = GpuFloat::ceil(x);
    ceilf(x: f32) -> f32 = GpuFloat::ceil(x);
    clz(x: i32) -> i32 = x.leading_zeros() as i32;
    clzll(x: i64) -> i32 = x.leading_zeros() as i32;
    copysign(x: f64, y: f64) -> f64 = GpuFloat::copysign(x, y);
    copysignf(x: f32, y: f32) -> f32 = GpuFloat::copysign(x, y);
    cos(x: f64) -> f64 = libm::cos(x);
    cosf(x: f32) -> f32 = libm::cosf(x);
    cosh(x: f64) -> f64 = libm::cosh(x);
    coshf(x: f32) -> f32 = libm::coshf(x);
    cospi(x: f64) -> f64 = x.cospi();
    cospif(x: f32) -> f32 = x.cospi();
    cyl_bessel_i0(x: f64) -> f64 = wide::bessel_i(x, 0);
    cyl_bessel_i0f(x: f32) -> f32 = wide::bessel_i(f64::from(x), 0) as f32;
    cyl_bessel_i1(x: f64) -> f64 = wide::bessel_i(x, 1);
    cyl_bessel_i1f(x: f32) -> f32 = wide::bessel_i(f64::from(x), 1) as f32;
    double2hiint(x: f64) -> i32 = (x.to_bits() >> 32) as i32;
    double2loint(x: f64) -> i32 = x.to_bits() as i32;
    double_as_longlong(x: f64) -> i64 = x.to_bits() as i64;
    erf(x: f64) -> f64 = libm::erf(x);
    erfc(x: f64) -> f64 = libm::erfc(x);
    erfcf(x: f32) -> f32 = libm::erfcf(x);
    erfcinv(x: f64) -> f64 = x.inv_complementary_error_function();
    erfcinvf(x: f32) -> f32 = x.inv_complementary_error_function();
    erfcx(x: f64) -> f64 = x.scaled_complementary_error_function();
    erfcxf(x: f32) -> f32 = x.scaled_complementary_error_function();
    erff(x: f32) -> f32 = libm::erff(x);
    erfinv(x: f64) -> f64 = wide::erfinv(x);
    erfinvf(x: f32) -> f32 = wide::erfinv(f64::from(x)) as f32;
    exp(x: f64) -> f64 = libm::exp(x);
    exp10(x: f64) -> f64 = libm::exp10(x);
    exp10f(x: f32) -> f32 = libm::exp10f(x);
    exp2(x: f64) -> f64 = libm::exp2(x);
    exp2f(x: f32) -> f32 = libm::exp2f(x);
    expf(x: f32) -> f32 = libm::expf(x);
    expm1(x: f64) -> f64 = libm::expm1(x);
    expm1f(x: f32) -> f32 = libm::expm1f(x);
    fabs(x: f64) -> f64 = GpuFloat::abs(x);
    fabsf(x: f32) -> f32 = GpuFloat::abs(x);
    fast_cosf(x: f32) -> f32 = x.fast_cos();
    fast_exp10f(x: f32) -> f32 = (x * core::f32::consts::LOG2_10).fast_exp2();
    fast_expf(x: f32) -> f32 = x.fast_exp();
    fast_fdividef(x: f32, y: f32) -> f32 = x.fast_div(y);
    fast_log10f(x: f32) -> f32 = x.fast_log2() * core::f32::consts::LOG10_2;
    fast_log2f(x: f32) -> f32 = x.fast_log2();
    fast_logf(x: f32) -> f32 = x.fast_ln();
    fast_powf(x: f32, y: f32) -> f32 = (y * x.fast_log2()).fast_exp2();
    fast_sincosf(x: f32, y: *mut f32, z: *mut f32) -> () = (*y, *z) = (x.fast_sin(), x.fast_cos());
    fast_sinf(x: f32) -> f32 = x.fast_sin();
    fast_tanf(x: f32) -> f32 = x.fast_sin().fast_div(x.fast_cos());
    fdim(x: f64, y: f64) -> f64 = libm::fdim(x, y);
    fdimf(x: f32, y: f32) -> f32 = libm::fdimf(x, y);
    ffs(x: i32) -> i32 = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    ffsll(x: i64) -> i32 = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    finitef(x: f32) -> i32 = i32::from(x.is_finite());
    float_as_int(x: f32) -> i32 = x.to_bits() as i32;
    float_as_uint(x: f32) -> i32 = x.to_bits() as i32;
    floor(x: f64) -> f64 = GpuFloat::floor(x);
    floorf(x: f32) -> f32 = GpuFloat::floor(x);
    fma(x: f64, y: f64, z: f64) -> f64 = GpuFloat::mul_add(x, y, z);
    fmaf(x: f32, y: f32, z: f32) -> f32 = GpuFloat::mul_add(x, y, z);
    fmax(x: f64, y: f64) -> f64 = x.max(y);
    fmaxf(x: f32, y: f32) -> f32 = x.max(y);
    fmin(x: f64, y: f64) -> f64 = x.min(y);
    fminf(x: f32, y: f32) -> f32 = x.min(y);
    fmod(x: f64, y: f64) -> f64 = libm::fmod(x, y);
    fmodf(x: f32, y: f32) -> f32 = libm::fmodf(x, y);
    frexp(x: f64, y: *mut i32) -> f64 = { let (fraction, exponent) = libm::frexp(x); *y = exponent; fraction };
    frexpf(x: f32, y: *mut i32) -> f32 = { let (fraction, exponent) = libm::frexpf(x); *y = exponent; fraction };
    frsqrt_rn(x: f32) -> f32 = (1.0 / GpuFloat::sqrt(f64::from(x))) as f32;
    hadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y)) >> 1) as i32;
    hiloint2double(x: i32, y: i32) -> f64 = f64::from_bits(u64::from(x as u32) << 32 | u64::from(y as u32));
    hypot(x: f64, y: f64) -> f64 = libm::hypot(x, y);
    hypotf(x: f32, y: f32) -> f32 = libm::hypotf(x, y);
    ilogb(x: f64) -> i32 = libm::ilogb(x);
    ilogbf(x: f32) -> i32 = libm::ilogbf(x);
    int2double_rn(x: i32) -> f64 = f64::from(x);
    int_as_float(x: i32) -> f32 = f32::from_bits(x as u32);
    isfinited(x: f64) -> i32 = i32::from(x.is_finite());
    isinfd(x: f64) -> i32 = i32::from(x.is_infinite());
    isinff(x: f32) -> i32 = i32::from(x.is_infinite());
    isnand(x: f64) -> i32 = i32::from(x.is_nan());
    isnanf(x: f32) -> i32 = i32::from(x.is_nan());
    j0(x: f64) -> f64 = libm::j0(x);
    j0f(x: f32) -> f32 = libm::j0f(x);
    j1(x: f64) -> f64 = libm::j1(x);
    j1f(x: f32) -> f32 = libm::j1f(x);
    jn(x: i32, y: f64) -> f64 = libm::jn(x, y);
    jnf(x: i32, y: f32) -> f32 = libm::jnf(x, y);
    ldexp(x: f64, y: i32) -> f64 = libm::ldexp(x, y);
    ldexpf(x: f32, y: i32) -> f32 = libm::ldexpf(x, y);
    lgamma(x: f64) -> f64 = libm::lgamma(x);
    lgammaf(x: f32) -> f32 = libm::lgammaf(x);
    llabs(x: i64) -> i64 = x.wrapping_abs();
    llmax(x: i64, y: i64) -> i64 = x.max(y);
    llmin(x: i64, y: i64) -> i64 = x.min(y);
    llrint(x: f64) -> i64 = libm::rint(x) as i64;
    llrintf(x: f32) -> i64 = libm::rintf(x) as i64;
    llround(x: f64) -> i64 = GpuFloat::round(x) as i64;
    llroundf(x: f32) -> i64 = GpuFloat::round(x) as i64;
    log(x: f64) -> f64 = libm::log(x);
    log10(x: f64) -> f64 = libm::log10(x);
    log10f(x: f32) -> f32 = libm::log10f(x);
    log1p(x: f64) -> f64 = libm::log1p(x);
    log1pf(x: f32) -> f32 = libm::log1pf(x);
    log2(x: f64) -> f64 = libm::log2(x);
    log2f(x: f32) -> f32 = libm::log2f(x);
    logb(x: f64) -> f64 = wide::logb(x);
    logbf(x: f32) -> f32 = wide::logb(f64::from(x)) as f32;
    logf(x: f32) -> f32 = libm::logf(x);
    longlong_as_double(x: i64) -> f64 = f64::from_bits(x as u64);
    max(x: i32, y: i32) -> i32 = x.max(y);
    min(x: i32, y: i32) -> i32 = x.min(y);
    modf(x: f64, y: *mut f64) -> f64 = { let (fraction, whole) = libm::modf(x); *y = whole; fraction };
    modff(x: f32, y: *mut f32) -> f32 = { let (fraction, whole) = libm::modff(x); *y = whole; fraction };
    mul24(x: i32, y: i32) -> i32 = (x << 8 >> 8).wrapping_mul(y << 8 >> 8);
    mul64hi(x: i64, y: i64) -> i64 = ((i128::from(x) * i128::from(y)) >> 64) as i64;
    mulhi(x: i32, y: i32) -> i32 = ((i64::from(x) * i64::from(y)) >> 32) as i32;
    nan(x: *mut i8) -> f64 = { let _ = x; f64::NAN };
    nanf(x: *mut i8) -> f32 = { let _ = x; f32::NAN };
    nearbyint(x: f64) -> f64 = libm::rint(x);
    nearbyintf(x: f32) -> f32 = libm::rintf(x);
    nextafter(x: f64, y: f64) -> f64 = libm::nextafter(x, y);
    nextafterf(x: f32, y: f32) -> f32 = libm::nextafterf(x, y);
    norm(x: i32, y: *mut f64) -> f64 = wide::norm(core::slice::from_raw_parts(y, x as usize));
    norm3d(x: f64, y: f64, z: f64) -> f64 = wide::norm(&[x, y, z]);
    norm3df(x: f32, y: f32, z: f32) -> f32 = wide::norm(&[f64::from(x), f64::from(y), f64::from(z)]) as f32;
    norm4d(x: f64, y: f64, z: f64, w: f64) -> f64 = wide::norm(&[x, y, z, w]);
    norm4df(x: f32, y: f32, z: f32, w: f32) -> f32 = wide::norm(&[f64::from(x), f64::from(y), f64::from(z), f64::from(w)]) as f32;
    normcdf(x: f64) -> f64 = x.norm_cdf();
    normcdff(x: f32) -> f32 = x.norm_cdf();
    normcdfinv(x: f64) -> f64 = x.inv_norm_cdf();
    normcdfinvf(x: f32) -> f32 = x.inv_norm_cdf();
    normf(x: i32, y: *mut f32) -> f32 = wide::norm_f32(core::slice::from_raw_parts(y, x as usize)) as f32;
    popc(x: i32) -> i32 = x.count_ones() as i32;
    popcll(x: i64) -> i32 = x.count_ones() as i32;
    pow(x: f64, y: f64) -> f64 = libm::pow(x, y);
    powf(x: f32, y: f32) -> f32 = libm::powf(x, y);
    powi(x: f64, y: i32) -> f64 = GpuFloat::powi(x, y);
    powif(x: f32, y: i32) -> f32 = GpuFloat::powi(x, y);
    rcbrt(x: f64) -> f64 = x.rcbrt();
    rcbrtf(x: f32) -> f32 = x.rcbrt();
    remainder(x: f64, y: f64) -> f64 = libm::remainder(x, y);
    remainderf(x: f32, y: f32) -> f32 = libm::remainderf(x, y);
    remquo(x: f64, y: f64, z: *mut i32) -> f64 = { let (rest, quotient) = libm::remquo(x, y); *z = quotient; rest };
    remquof(x: f32, y: f32, z: *mut i32) -> f32 = { let (rest, quotient) = libm::remquof(x, y); *z = quotient; rest };
    rhadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y) + 1) >> 1) as i32;
    rhypot(x: f64, y: f64) -> f64 = 1.0 / libm::hypot(x, y);
    rhypotf(x: f32, y: f32) -> f32 = (1.0 / libm::hypot(f64::from(x), f64::from(y))) as f32;
    rint(x: f64) -> f64 = libm::rint(x);
    rintf(x: f32) -> f32 = libm::rintf(x);
    rnorm(x: i32, y: *mut f64) -> f64 = 1.0 / wide::norm(core::slice::from_raw_parts(y, x as usize));
    rnorm3d(x: f64, y: f64, z: f64) -> f64 = 1.0 / wide::norm(&[x, y, z]);
    rnorm3df(x: f32, y: f32, z: f32) -> f32 = (1.0 / wide::norm(&[f64::from(x), f64::from(y), f64::from(z)])) as f32;
    rnorm4d(x: f64, y: f64, z: f64, w: f64) -> f64 = 1.0 / wide::norm(&[x, y, z, w]);
    rnorm4df(x: f32, y: f32, z: f32, w: f32) -> f32 = (1.0 / wide::norm(&[f64::from(x), f64::from(y), f64::from(z), f64::from(w)])) as f32;
    rnormf(x: i32, y: *mut f32) -> f32 = (1.0 / wide::norm_f32(core::slice::from_raw_parts(y, x as usize))) as f32;
    round(x: f64) -> f64 = GpuFloat::round(x);
    roundf(x: f32) -> f32 = GpuFloat::round(x);
    rsqrt(x: f64) -> f64 = 1.0 / GpuFloat::sqrt(x);
    rsqrtf(x: f32) -> f32 = 1.0 / GpuFloat::sqrt(x);
    sad(x: i32, y: i32, z: i32) -> i32 = x.abs_diff(y).wrapping_add(z as u32) as i32;
    saturatef(x: f32) -> f32 = x.saturate();
    scalbn(x: f64, y: i32) -> f64 = libm::scalbn(x, y);
    scalbnf(x: f32, y: i32) -> f32 = libm::scalbnf(x, y);
    signbitd(x: f64) -> i32 = i32::from(x.is_sign_negative());
    signbitf(x: f32) -> i32 = i32::from(x.is_sign_negative());
    sin(x: f64) -> f64 = libm::sin(x);
    sincos(x: f64, y: *mut f64, z: *mut f64) -> () = (*y, *z) = libm::sincos(x);
    sincosf(x: f32, y: *mut f32, z: *mut f32) -> () = (*y, *z) = libm::sincosf(x);
    sincospi(x: f64, y: *mut f64, z: *mut f64) -> () = (*y, *z) = x.sincospi();
    sincospif(x: f32, y: *mut f32, z: *mut f32) -> () = (*y, *z) = x.sincospi();
    sinf(x: f32) -> f32 = libm::sinf(x);
    sinh(x: f64) -> f64 = libm::sinh(x);
    sinhf(x: f32) -> f32 = libm::sinhf(x);
    sinpi(x: f64) -> f64 = x.sinpi();
    sinpif(x: f32) -> f32 = x.sinpi();
    sqrt(x: f64) -> f64 = GpuFloat::sqrt(x);
    sqrtf(x: f32) -> f32 = GpuFloat::sqrt(x);
    tan(x: f64) -> f64 = libm::tan(x);
    tanf(x: f32) -> f32 = libm::tanf(x);
    tanh(x: f64) -> f64 = libm::tanh(x);
    tanhf(x: f32) -> f32 = libm::tanhf(x);
    tgamma(x: f64) -> f64 = libm::tgamma(x);
    tgammaf(x: f32) -> f32 = libm::tgammaf(x);
    trunc(x: f64) -> f64 = GpuFloat::trunc(x);
    truncf(x: f32) -> f32 = GpuFloat::trunc(x);
    uhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32)) >> 1) as i32;
    uint2double_rn(x: i32) -> f64 = f64::from(x as u32);
    uint_as_float(x: i32) -> f32 = f32::from_bits(x as u32);
    ullmax(x: i64, y: i64) -> i64 = (x as u64).max(y as u64) as i64;
    ullmin(x: i64, y: i64) -> i64 = (x as u64).min(y as u64) as i64;
    umax(x: i32, y: i32) -> i32 = (x as u32).max(y as u32) as i32;
    umin(x: i32, y: i32) -> i32 = (x as u32).min(y as u32) as i32;
    umul24(x: i32, y: i32) -> i32 = (x & 0xff_ffff).wrapping_mul(y & 0xff_ffff);
    umul64hi(x: i64, y: i64) -> i64 = ((u128::from(x as u64) * u128::from(y as u64)) >> 64) as i64;
    umulhi(x: i32, y: i32) -> i32 = ((u64::from(x as u32) * u64::from(y as u32)) >> 32) as i32;
    urhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32) + 1) >> 1) as i32;
    usad(x: i32, y: i32, z: i32) -> i32 = (x as u32).abs_diff(y as u32).wrapping_add(z as u32) as i32;
    y0(x: f64) -> f64 = libm::y0(x);
    y0f(x: f32) -> f32 = libm::y0f(x);
    y1(x: f64) -> f64 = libm::y1(x);
    y1f(x: f32) -> f32 = libm::y1f(x);
    yn(x: i32, y: f64) -> f64 = libm::yn(x, y);
    ynf(x: i32, y: f32) -> f32 = libm::ynf(x, y);
}

instructions! {
    dadd_rd(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "add.rm.f64 {}, {}, {};";
    dadd_rn(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "add.rn.f64 {}, {}, {};";
    dadd_ru(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "add.rp.f64 {}, {}, {};";
    dadd_rz(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "add.rz.f64 {}, {}, {};";
    ddiv_rd(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "div.rm.f64 {}, {}, {};";
    ddiv_rn(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "div.rn.f64 {}, {}, {};";
    ddiv_ru(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "div.rp.f64 {}, {}, {};";
    ddiv_rz(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "div.rz.f64 {}, {}, {};";
    dmul_rd(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "mul.rm.f64 {}, {}, {};";
    dmul_rn(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "mul.rn.f64 {}, {}, {};";
    dmul_ru(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "mul.rp.f64 {}, {}, {};";
    dmul_rz(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "mul.rz.f64 {}, {}, {};";
    double2float_rd(x: f64 as reg64) -> f32 as reg32 = "cvt.rm.f32.f64 {}, {};";
    double2float_rn(x: f64 as reg64) -> f32 as reg32 = "cvt.rn.f32.f64 {}, {};";
    double2float_ru(x: f64 as reg64) -> f32 as reg32 = "cvt.rp.f32.f64 {}, {};";
    double2float_rz(x: f64 as reg64) -> f32 as reg32 = "cvt.rz.f32.f64 {}, {};";
    double2int_rd(x: f64 as reg64) -> i32 as reg32 = "cvt.rmi.s32.f64 {}, {};";
    double2int_rn(x: f64 as reg64) -> i32 as reg32 = "cvt.rni.s32.f64 {}, {};";
    double2int_ru(x: f64 as reg64) -> i32 as reg32 = "cvt.rpi.s32.f64 {}, {};";
    double2int_rz(x: f64 as reg64) -> i32 as reg32 = "cvt.rzi.s32.f64 {}, {};";
    double2ll_rd(x: f64 as reg64) -> i64 as reg64 = "cvt.rmi.s64.f64 {}, {};";
    double2ll_rn(x: f64 as reg64) -> i64 as reg64 = "cvt.rni.s64.f64 {}, {};";
    double2ll_ru(x: f64 as reg64) -> i64 as reg64 = "cvt.rpi.s64.f64 {}, {};";
    double2ll_rz(x: f64 as reg64) -> i64 as reg64 = "cvt.rzi.s64.f64 {}, {};";
    double2uint_rd(x: f64 as reg64) -> i32 as reg32 = "cvt.rmi.u32.f64 {}, {};";
    double2uint_rn(x: f64 as reg64) -> i32 as reg32 = "cvt.rni.u32.f64 {}, {};";
    double2uint_ru(x: f64 as reg64) -> i32 as reg32 = "cvt.rpi.u32.f64 {}, {};";
    double2uint_rz(x: f64 as reg64) -> i32 as reg32 = "cvt.rzi.u32.f64 {}, {};";
    double2ull_rd(x: f64 as reg64) -> i64 as reg64 = "cvt.rmi.u64.f64 {}, {};";
    double2ull_rn(x: f64 as reg64) -> i64 as reg64 = "cvt.rni.u64.f64 {}, {};";
    double2ull_ru(x: f64 as reg64) -> i64 as reg64 = "cvt.rpi.u64.f64 {}, {};";
    double2ull_rz(x: f64 as reg64) -> i64 as reg64 = "cvt.rzi.u64.f64 {}, {};";
    drcp_rd(x: f64 as reg64) -> f64 as reg64 = "rcp.rm.f64 {}, {};";
    drcp_rn(x: f64 as reg64) -> f64 as reg64 = "rcp.rn.f64 {}, {};";
    drcp_ru(x: f64 as reg64) -> f64 as reg64 = "rcp.rp.f64 {}, {};";
    drcp_rz(x: f64 as reg64) -> f64 as reg64 = "rcp.rz.f64 {}, {};";
    dsqrt_rd(x: f64 as reg64) -> f64 as reg64 = "sqrt.rm.f64 {}, {};";
    dsqrt_rn(x: f64 as reg64) -> f64 as reg64 = "sqrt.rn.f64 {}, {};";
    dsqrt_ru(x: f64 as reg64) -> f64 as reg64 = "sqrt.rp.f64 {}, {};";
    dsqrt_rz(x: f64 as reg64) -> f64 as reg64 = "sqrt.rz.f64 {}, {};";
    dsub_rd(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "sub.rm.f64 {}, {}, {};";
    dsub_rn(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "sub.rn.f64 {}, {}, {};";
    dsub_ru(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "sub.rp.f64 {}, {}, {};";
    dsub_rz(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "sub.rz.f64 {}, {}, {};";
    fadd_rd(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "add.rm.f32 {}, {}, {};";
    fadd_rn(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "add.rn.f32 {}, {}, {};";
    fadd_ru(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "add.rp.f32 {}, {}, {};";
    fadd_rz(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "add.rz.f32 {}, {}, {};";
    fdiv_rd(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "div.rm.f32 {}, {}, {};";
    fdiv_rn(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "div.rn.f32 {}, {}, {};";
    fdiv_ru(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "div.rp.f32 {}, {}, {};";
    fdiv_rz(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "div.rz.f32 {}, {}, {};";
    float2half_rn(x: f32 as reg32) -> i16 as reg16 = "cvt.rn.f16.f32 {}, {};";
    float2int_rd(x: f32 as reg32) -> i32 as reg32 = "cvt.rmi.s32.f32 {}, {};";
    float2int_rn(x: f32 as reg32) -> i32 as reg32 = "cvt.rni.s32.f32 {}, {};";
    float2int_ru(x: f32 as reg32) -> i32 as reg32 = "cvt.rpi.s32.f32 {}, {};";
    float2int_rz(x: f32 as reg32) -> i32 as reg32 = "cvt.rzi.s32.f32 {}, {};";
    float2ll_rd(x: f32 as reg32) -> i64 as reg64 = "cvt.rmi.s64.f32 {}, {};";
    float2ll_rn(x: f32 as reg32) -> i64 as reg64 = "cvt.rni.s64.f32 {}, {};";
    float2ll_ru(x: f32 as reg32) -> i64 as reg64 = "cvt.rpi.s64.f32 {}, {};";
    float2ll_rz(x: f32 as reg32) -> i64 as reg64 = "cvt.rzi.s64.f32 {}, {};";
    float2uint_rd(x: f32 as reg32) -> i32 as reg32 = "cvt.rmi.u32.f32 {}, {};";
    float2uint_rn(x: f32 as reg32) -> i32 as reg32 = "cvt.rni.u32.f32 {}, {};";
    float2uint_ru(x: f32 as reg32) -> i32 as reg32 = "cvt.rpi.u32.f32 {}, {};";
    float2uint_rz(x: f32 as reg32) -> i32 as reg32 = "cvt.rzi.u32.f32 {}, {};";
    float2ull_rd(x: f32 as reg32) -> i64 as reg64 = "cvt.rmi.u64.f32 {}, {};";
    float2ull_rn(x: f32 as reg32) -> i64 as reg64 = "cvt.rni.u64.f32 {}, {};";
    float2ull_ru(x: f32 as reg32) -> i64 as reg64 = "cvt.rpi.u64.f32 {}, {};";
    float2ull_rz(x: f32 as reg32) -> i64 as reg64 = "cvt.rzi.u64.f32 {}, {};";
    fma_rd(x: f64 as reg64, y: f64 as reg64, z: f64 as reg64) -> f64 as reg64 = "fma.rm.f64 {}, {}, {}, {};";
    fma_rn(x: f64 as reg64, y: f64 as reg64, z: f64 as reg64) -> f64 as reg64 = "fma.rn.f64 {}, {}, {}, {};";
    fma_ru(x: f64 as reg64, y: f64 as reg64, z: f64 as reg64) -> f64 as reg64 = "fma.rp.f64 {}, {}, {}, {};";
    fma_rz(x: f64 as reg64, y: f64 as reg64, z: f64 as reg64) -> f64 as reg64 = "fma.rz.f64 {}, {}, {}, {};";
    fmaf_ieee_rd(x: f32 as reg32, y: f32 as reg32, z: f32 as reg32) -> f32 as reg32 = "fma.rm.f32 {}, {}, {}, {};";
    fmaf_ieee_rn(x: f32 as reg32, y: f32 as reg32, z: f32 as reg32) -> f32 as reg32 = "fma.rn.f32 {}, {}, {}, {};";
    fmaf_ieee_ru(x: f32 as reg32, y: f32 as reg32, z: f32 as reg32) -> f32 as reg32 = "fma.rp.f32 {}, {}, {}, {};";
    fmaf_ieee_rz(x: f32 as reg32, y: f32 as reg32, z: f32 as reg32) -> f32 as reg32 = "fma.rz.f32 {}, {}, {}, {};";
    fmaf_rd(x: f32 as reg32, y: f32 as reg32, z: f32 as reg32) -> f32 as reg32 = "fma.rm.f32 {}, {}, {}, {};";
    fmaf_rn(x: f32 as reg32, y: f32 as reg32, z: f32 as reg32) -> f32 as reg32 = "fma.rn.f32 {}, {}, {}, {};";
    fmaf_ru(x: f32 as reg32, y: f32 as reg32, z: f32 as reg32) -> f32 as reg32 = "fma.rp.f32 {}, {}, {}, {};";
    fmaf_rz(x: f32 as reg32, y: f32 as reg32, z: f32 as reg32) -> f32 as reg32 = "fma.rz.f32 {}, {}, {}, {};";
    fmul_rd(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "mul.rm.f32 {}, {}, {};";
    fmul_rn(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "mul.rn.f32 {}, {}, {};";
    fmul_ru(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "mul.rp.f32 {}, {}, {};";
    fmul_rz(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "mul.rz.f32 {}, {}, {};";
    frcp_rd(x: f32 as reg32) -> f32 as reg32 = "rcp.rm.f32 {}, {};";
    frcp_rn(x: f32 as reg32) -> f32 as reg32 = "rcp.rn.f32 {}, {};";
    frcp_ru(x: f32 as reg32) -> f32 as reg32 = "rcp.rp.f32 {}, {};";
    frcp_rz(x: f32 as reg32) -> f32 as reg32 = "rcp.rz.f32 {}, {};";
    fsqrt_rd(x: f32 as reg32) -> f32 as reg32 = "sqrt.rm.f32 {}, {};";
    fsqrt_rn(x: f32 as reg32) -> f32 as reg32 = "sqrt.rn.f32 {}, {};";
    fsqrt_ru(x: f32 as reg32) -> f32 as reg32 = "sqrt.rp.f32 {}, {};";
    fsqrt_rz(x: f32 as reg32) -> f32 as reg32 = "sqrt.rz.f32 {}, {};";
    fsub_rd(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "sub.rm.f32 {}, {}, {};";
    fsub_rn(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "sub.rn.f32 {}, {}, {};";
    fsub_ru(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "sub.rp.f32 {}, {}, {};";
    fsub_rz(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "sub.rz.f32 {}, {}, {};";
    half2float(x: i16 as reg16) -> f32 as reg32 = "cvt.f32.f16 {}, {};";
    int2float_rd(x: i32 as reg32) -> f32 as reg32 = "cvt.rm.f32.s32 {}, {};";
    int2float_rn(x: i32 as reg32) -> f32 as reg32 = "cvt.rn.f32.s32 {}, {};";
    int2float_ru(x: i32 as reg32) -> f32 as reg32 = "cvt.rp.f32.s32 {}, {};";
    int2float_rz(x: i32 as reg32) -> f32 as reg32 = "cvt.rz.f32.s32 {}, {};";
    ll2double_rd(x: i64 as reg64) -> f64 as reg64 = "cvt.rm.f64.s64 {}, {};";
    ll2double_rn(x: i64 as reg64) -> f64 as reg64 = "cvt.rn.f64.s64 {}, {};";
    ll2double_ru(x: i64 as reg64) -> f64 as reg64 = "cvt.rp.f64.s64 {}, {};";
    ll2double_rz(x: i64 as reg64) -> f64 as reg64 = "cvt.rz.f64.s64 {}, {};";
    ll2float_rd(x: i64 as reg64) -> f32 as reg32 = "cvt.rm.f32.s64 {}, {};";
    ll2float_rn(x: i64 as reg64) -> f32 as reg32 = "cvt.rn.f32.s64 {}, {};";
    ll2float_ru(x: i64 as reg64) -> f32 as reg32 = "cvt.rp.f32.s64 {}, {};";
    ll2float_rz(x: i64 as reg64) -> f32 as reg32 = "cvt.rz.f32.s64 {}, {};";
    uint2float_rd(x: i32 as reg32) -> f32 as reg32 = "cvt.rm.f32.u32 {}, {};";
    uint2float_rn(x: i32 as reg32) -> f32 as reg32 = "cvt.rn.f32.u32 {}, {};";
    uint2float_ru(x: i32 as reg32) -> f32 as reg32 = "cvt.rp.f32.u32 {}, {};";
    uint2float_rz(x: i32 as reg32) -> f32 as reg32 = "cvt.rz.f32.u32 {}, {};";
    ull2double_rd(x: i64 as reg64) -> f64 as reg64 = "cvt.rm.f64.u64 {}, {};";
    ull2double_rn(x: i64 as reg64) -> f64 as reg64 = "cvt.rn.f64.u64 {}, {};";
    ull2double_ru(x: i64 as reg64) -> f64 as reg64 = "cvt.rp.f64.u64 {}, {};";
    ull2double_rz(x: i64 as reg64) -> f64 as reg64 = "cvt.rz.f64.u64 {}, {};";
    ull2float_rd(x: i64 as reg64) -> f32 as reg32 = "cvt.rm.f32.u64 {}, {};";
    ull2float_rn(x: i64 as reg64) -> f32 as reg32 = "cvt.rn.f32.u64 {}, {};";
    ull2float_ru(x: i64 as reg64) -> f32 as reg32 = "cvt.rp.f32.u64 {}, {};";
    ull2float_rz(x: i64 as reg64) -> f32 as reg32 = "cvt.rz.f32.u64 {}, {};";
}
