//! Values of one type as values of another: the lanes of `cvt`.

use super::super::lane::Lane;
use super::exact::Exact;
use super::float::{Modes, Style};
use super::format::{Format, Rounding};

/// An integer type.
pub(in crate::exec) trait Integer: Lane {
    const MIN: i128;
    const MAX: i128;
    fn wide(self) -> i128;
    /// The low bits.
    fn truncated(value: i128) -> Self;
}

macro_rules! integers {
    ($($int:ident)*) => {$(
        impl Integer for $int {
            const MIN: i128 = $int::MIN as i128;
            const MAX: i128 = $int::MAX as i128;

            #[inline(always)]
            fn wide(self) -> i128 {
                self as i128
            }

            #[inline(always)]
            fn truncated(value: i128) -> Self {
                value as $int
            }
        }
    )*};
}

integers! { u8 i8 u16 i16 u32 i32 u64 i64 }

/// Integer to integer with `.sat`.
#[inline(always)]
pub(in crate::exec) fn integer_saturated<A: Integer, D: Integer>(a: A) -> D {
    D::truncated(a.wide().clamp(D::MIN, D::MAX))
}

/// Integer to floating point.
#[inline(always)]
pub(in crate::exec) fn to_float<A: Integer, D: Format>(modes: Modes, a: A) -> D {
    let value: D = Exact::of_integer(a.wide()).round(modes.rounding);
    if modes.saturate {
        value.saturated()
    } else {
        value
    }
}

/// Floating point to integer: rounded, then clamped to the type's range.
///
/// A NaN becomes 0 if both types have at most 32 bits. Where the device converts with 64 bits, it becomes the pattern
/// of the smallest signed number, of which a narrower type keeps what it keeps of any number.
#[inline(always)]
pub(in crate::exec) fn to_integer<A: Format, D: Integer>(modes: Modes, a: A) -> D {
    let a = modes.input(a);
    if a.is_nan() {
        let bits = 8 * size_of::<D>() as u32;
        return match A::WIDTH.max(bits) {
            64 => D::truncated(1 << (bits - 1)),
            _ => D::truncated(0),
        };
    }
    match Exact::of(a) {
        Some(value) => D::truncated(value.to_integer(modes.rounding).clamp(D::MIN, D::MAX)),
        None => D::truncated(if a.is_negative() { D::MIN } else { D::MAX }),
    }
}

/// Floating point to another format.
#[inline(always)]
pub(in crate::exec) fn to_format<A: Format, D: Format>(modes: Modes, a: A) -> D {
    // Flushing is an operation of its own in the wide conversion, and gives its own NaN.
    let a = if modes.flush {
        A::settled(a.flushed(), [a])
    } else {
        a
    };
    let value = match Exact::of(a) {
        Some(value) => value.round(modes.rounding),
        None => special(a),
    };
    let value = if modes.flush && D::WIDTH == 32 {
        D::flushed(value)
    } else {
        value
    };
    if modes.saturate {
        value.saturated()
    } else {
        value
    }
}

/// An infinity or NaN in another format. Units for `f64` keep the NaN's high bits and make it quiet.
fn special<A: Format, D: Format>(a: A) -> D {
    let infinity = u64::from(D::EXPONENT_MASK) << (D::PRECISION - 1);
    let sign = u64::from(a.is_negative()) << (D::WIDTH - 1);
    if !a.is_nan() {
        return D::of_bits(sign | infinity);
    }
    if A::WIDTH.max(D::WIDTH) < 64 {
        return D::nan([]);
    }
    let fraction = a.bits() << (65 - A::PRECISION);
    let quiet = 1 << (D::PRECISION - 2);
    D::of_bits(sign | infinity | quiet | fraction >> (65 - D::PRECISION))
}

/// Rounded to an integral value of the same format (`cvt.rni.f32.f32` ..).
#[inline(always)]
pub(in crate::exec) fn integral<A: Format>(modes: Modes, a: A) -> A {
    let a = modes.input(a);
    let value = match Exact::of(a) {
        Some(value) => value.integral(modes.rounding).round(Rounding::Nearest),
        None => a,
    };
    modes.output(value, [a])
}

/// To the same format: only flushed or saturated.
#[inline(always)]
pub(in crate::exec) fn settle<A: Format>(modes: Modes, a: A) -> A {
    modes.output(modes.input(a), [a])
}
