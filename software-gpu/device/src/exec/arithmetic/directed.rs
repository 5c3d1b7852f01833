//! Operations in a rounding mode or format that the host's processor does not have: exact, then rounded once.
//!
//! Infinities, NaNs and divisions of or by zero have one result in all modes, which the processor knows.

use super::exact::Exact;
use super::float::Float;
use super::format::{Format, Rounding};

/// A result that is a zero, an infinity or a NaN.
fn special<F: Format>(value: f64) -> F {
    let sign = u64::from(value.is_sign_negative()) << (F::WIDTH - 1);
    let infinity = u64::from(F::EXPONENT_MASK) << (F::PRECISION - 1);
    F::of_bits(match (value.is_nan(), value == 0.0) {
        (true, _) => infinity | 1,
        (_, true) => sign,
        _ => sign | infinity,
    })
}

#[inline(never)]
pub(in crate::exec) fn add<F: Float>(a: F, b: F, mode: Rounding) -> F {
    match (Exact::of(a), Exact::of(b)) {
        (Some(x), Some(y)) => x.plus(y, mode).round(mode),
        _ => special(a.native() + b.native()),
    }
}

#[inline(never)]
pub(in crate::exec) fn mul<F: Float>(a: F, b: F, mode: Rounding) -> F {
    match (Exact::of(a), Exact::of(b)) {
        (Some(x), Some(y)) => x.times(y).round(mode),
        _ => special(a.native() * b.native()),
    }
}

#[inline(never)]
pub(in crate::exec) fn fma<F: Float>(a: F, b: F, c: F, mode: Rounding) -> F {
    match (Exact::of(a), Exact::of(b), Exact::of(c)) {
        (Some(x), Some(y), Some(z)) => x.times(y).plus(z, mode).round(mode),
        // A finite product must not overflow to an infinity that the addend would meet.
        (Some(_), Some(_), None) => special(c.native()),
        _ => special(a.native() * b.native() + c.native()),
    }
}

#[inline(never)]
pub(in crate::exec) fn div<F: Float>(a: F, b: F, mode: Rounding) -> F {
    match (Exact::of(a), Exact::of(b)) {
        (Some(x), Some(y)) if !x.is_zero() && !y.is_zero() => x.divided_by(y).round(mode),
        _ => special(a.native() / b.native()),
    }
}

#[inline(never)]
pub(in crate::exec) fn sqrt<F: Float>(a: F, mode: Rounding) -> F {
    match Exact::of(a) {
        Some(x) if !x.is_zero() && !x.is_negative() => x.square_root().round(mode),
        _ => special(a.native().sqrt()),
    }
}
