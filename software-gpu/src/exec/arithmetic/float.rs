//! The floating-point operations of the PTX ISA, for one lane.
//!
//! Rounding to nearest in `f32` and `f64` is what the host's processor does. Everything else, and all arithmetic in
//! half precision, is computed exactly and rounded once ([`directed`]).

use half::{bf16, f16};

use super::directed;
use super::format::{Format, Rounding};

/// The modifiers of an instruction as a type, so that a handler needs no branches on them.
pub(in crate::exec) trait Style: Copy + 'static {
    const ROUNDING: Rounding;
    /// Whether the processor's own operations round as this style wants.
    const NEAREST: bool = matches!(Self::ROUNDING, Rounding::Nearest);
    /// `.ftz`
    const FLUSH: bool;
    /// `.sat`
    const SATURATE: bool;

    /// An operand as the operation sees it.
    #[inline(always)]
    fn input<F: Format>(value: F) -> F {
        if Self::FLUSH { value.flushed() } else { value }
    }

    /// A result as it is stored. `operands` are those whose NaN would be passed on, in order of precedence.
    #[inline(always)]
    fn output<F: Format, const N: usize>(value: F, operands: [F; N]) -> F {
        let value = if Self::FLUSH { value.flushed() } else { value };
        if Self::SATURATE {
            value.saturated()
        } else {
            F::settled(value, operands)
        }
    }
}

/// The style with this rounding (the number of a [`Rounding`]), `.ftz`, `.sat`.
#[derive(Clone, Copy)]
pub(in crate::exec) struct With<const ROUNDING: u8, const FLUSH: bool, const SATURATE: bool>;

impl<const ROUNDING: u8, const FLUSH: bool, const SATURATE: bool> Style
    for With<ROUNDING, FLUSH, SATURATE>
{
    const ROUNDING: Rounding = [
        Rounding::Nearest,
        Rounding::Zero,
        Rounding::Down,
        Rounding::Up,
    ][ROUNDING as usize];
    const FLUSH: bool = FLUSH;
    const SATURATE: bool = SATURATE;
}

/// A format with arithmetic, rounded to nearest.
pub(in crate::exec) trait Float: Format {
    /// A format of the processor in which operations on infinities, NaNs and zeros have the same result.
    fn native(self) -> f64;
    fn add(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn fma(self, factor: Self, addend: Self) -> Self;
    fn sqrt(self) -> Self;
    fn negated(self) -> Self;
}

macro_rules! native_floats {
    ($($float:ident)*) => {$(
        impl Float for $float {
            #[inline(always)]
            fn native(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }

            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }

            #[inline(always)]
            fn fma(self, factor: Self, addend: Self) -> Self {
                self.mul_add(factor, addend)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                $float::sqrt(self)
            }

            #[inline(always)]
            fn negated(self) -> Self {
                -self
            }
        }
    )*};
}

native_floats! { f32 f64 }

macro_rules! half_floats {
    ($($half:ident)*) => {$(
        impl Float for $half {
            fn native(self) -> f64 {
                self.to_f64()
            }

            fn add(self, other: Self) -> Self {
                directed::add(self, other, Rounding::Nearest)
            }

            fn mul(self, other: Self) -> Self {
                directed::mul(self, other, Rounding::Nearest)
            }

            fn div(self, other: Self) -> Self {
                directed::div(self, other, Rounding::Nearest)
            }

            fn fma(self, factor: Self, addend: Self) -> Self {
                directed::fma(self, factor, addend, Rounding::Nearest)
            }

            fn sqrt(self) -> Self {
                directed::sqrt(self, Rounding::Nearest)
            }

            fn negated(self) -> Self {
                -self
            }
        }
    )*};
}

half_floats! { f16 bf16 }

/// `add`
#[inline(always)]
pub(in crate::exec) fn add<F: Float, S: Style>(a: F, b: F) -> F {
    let (a, b) = (S::input(a), S::input(b));
    let sum = if S::NEAREST {
        a.add(b)
    } else {
        directed::add(a, b, S::ROUNDING)
    };
    S::output(sum, [b, a])
}

/// `sub`. A NaN subtrahend keeps its sign.
#[inline(always)]
pub(in crate::exec) fn sub<F: Float, S: Style>(a: F, b: F) -> F {
    let (a, b) = (S::input(a), S::input(b));
    let difference = if S::NEAREST {
        a.add(b.negated())
    } else {
        directed::add(a, b.negated(), S::ROUNDING)
    };
    S::output(difference, [b, a])
}

/// `mul`
#[inline(always)]
pub(in crate::exec) fn mul<F: Float, S: Style>(a: F, b: F) -> F {
    let (a, b) = (S::input(a), S::input(b));
    let product = if S::NEAREST {
        a.mul(b)
    } else {
        directed::mul(a, b, S::ROUNDING)
    };
    S::output(product, [b, a])
}

/// `fma`, and `mad` on anything newer than compute capability 1.x.
#[inline(always)]
pub(in crate::exec) fn fma<F: Float, S: Style>(a: F, b: F, c: F) -> F {
    let (a, b, c) = (S::input(a), S::input(b), S::input(c));
    let value = if S::NEAREST {
        a.fma(b, c)
    } else {
        directed::fma(a, b, c, S::ROUNDING)
    };
    S::output(value, [b, c, a])
}

/// `div`
#[inline(always)]
pub(in crate::exec) fn div<F: Float, S: Style>(a: F, b: F) -> F {
    let (a, b) = (S::input(a), S::input(b));
    let quotient = if S::NEAREST {
        a.div(b)
    } else {
        directed::div(a, b, S::ROUNDING)
    };
    S::output(quotient, [a, b])
}

/// `rcp`
#[inline(always)]
pub(in crate::exec) fn rcp<F: Float, S: Style>(a: F) -> F {
    div::<F, S>(F::of_bits(F::ONE), a)
}

/// `sqrt`
#[inline(always)]
pub(in crate::exec) fn sqrt<F: Float, S: Style>(a: F) -> F {
    let a = S::input(a);
    let root = if S::NEAREST {
        a.sqrt()
    } else {
        directed::sqrt(a, S::ROUNDING)
    };
    S::output(root, [a])
}

/// `abs`
#[inline(always)]
pub(in crate::exec) fn abs<F: Float, S: Style>(a: F) -> F {
    let magnitude = S::input(a).bits() & ((1 << (F::WIDTH - 1)) - 1);
    S::output(F::of_bits(magnitude), [a])
}

/// `neg`
#[inline(always)]
pub(in crate::exec) fn neg<F: Float, S: Style>(a: F) -> F {
    S::output(F::of_bits(S::input(a).bits() ^ 1 << (F::WIDTH - 1)), [a])
}

/// `min`: a number rather than a NaN, -0 rather than +0.
#[inline(always)]
pub(in crate::exec) fn min<F: Float, S: Style>(a: F, b: F) -> F {
    let (a, b) = (S::input(a), S::input(b));
    let first = a < b || b.is_nan() || a == b && a.is_negative();
    S::output(if first { a } else { b }, [b, a])
}

/// `max`: a number rather than a NaN, +0 rather than -0.
#[inline(always)]
pub(in crate::exec) fn max<F: Float, S: Style>(a: F, b: F) -> F {
    let (a, b) = (S::input(a), S::input(b));
    let first = a > b || b.is_nan() || a == b && b.is_negative();
    S::output(if first { a } else { b }, [b, a])
}

/// `min.NaN`: a NaN if there is one.
#[inline(always)]
pub(in crate::exec) fn min_nan<F: Float, S: Style>(a: F, b: F) -> F {
    if a.is_nan() || b.is_nan() {
        F::nan([b, a])
    } else {
        min::<F, S>(a, b)
    }
}

/// `max.NaN`: a NaN if there is one.
#[inline(always)]
pub(in crate::exec) fn max_nan<F: Float, S: Style>(a: F, b: F) -> F {
    if a.is_nan() || b.is_nan() {
        F::nan([b, a])
    } else {
        max::<F, S>(a, b)
    }
}

/// `copysign`: the magnitude of `b` with the sign of `a`.
#[inline(always)]
pub(in crate::exec) fn copysign<F: Float>(a: F, b: F) -> F {
    let sign = 1 << (F::WIDTH - 1);
    F::of_bits(a.bits() & sign | b.bits() & (sign - 1))
}
