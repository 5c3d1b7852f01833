//! The floating-point operations of the PTX ISA, for one lane.
//!
//! Rounding to nearest in `f32` and `f64` is what the host's processor does. Everything else, and all arithmetic in
//! half precision, is computed exactly and rounded once ([`directed`]).

use half::{bf16, f16};

use super::directed;
use super::format::{Format, Rounding};

/// The modifiers of an instruction: constants of a type ([`With`]), so that a handler needs no branches on them, or a
/// value ([`Modes`]), so that one handler serves all of them.
pub(in crate::exec) trait Style: Copy + 'static {
    fn rounding(self) -> Rounding;
    /// `.ftz`
    fn flush(self) -> bool;
    /// `.sat`
    fn saturate(self) -> bool;

    /// Whether the processor's own operations round as this style wants.
    #[inline(always)]
    fn is_nearest(self) -> bool {
        matches!(self.rounding(), Rounding::Nearest)
    }

    /// An operand as the operation sees it.
    #[inline(always)]
    fn input<F: Format>(self, value: F) -> F {
        if self.flush() { value.flushed() } else { value }
    }

    /// A result as it is stored. `operands` are those whose NaN would be passed on, in order of precedence.
    #[inline(always)]
    fn output<F: Format, const N: usize>(self, value: F, operands: [F; N]) -> F {
        let value = if self.flush() { value.flushed() } else { value };
        if self.saturate() {
            value.saturated()
        } else {
            F::settled(value, operands)
        }
    }
}

/// Rounding to nearest with `.ftz` and `.sat` as constants.
#[derive(Clone, Copy)]
pub(in crate::exec) struct With<const FLUSH: bool, const SATURATE: bool>;

impl<const FLUSH: bool, const SATURATE: bool> Style for With<FLUSH, SATURATE> {
    #[inline(always)]
    fn rounding(self) -> Rounding {
        Rounding::Nearest
    }

    #[inline(always)]
    fn flush(self) -> bool {
        FLUSH
    }

    #[inline(always)]
    fn saturate(self) -> bool {
        SATURATE
    }
}

/// The modifiers as a value, which an operation carries as its small constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::exec) struct Modes {
    pub rounding: Rounding,
    pub flush: bool,
    pub saturate: bool,
}

impl Modes {
    /// The modes as an operation's constant.
    pub fn bits(self) -> u32 {
        self.rounding as u32 | u32::from(self.flush) << 2 | u32::from(self.saturate) << 3
    }

    /// The modes with these [`Self::bits`].
    pub fn of_bits(bits: u32) -> Self {
        let rounding = match bits & 3 {
            0 => Rounding::Nearest,
            1 => Rounding::Zero,
            2 => Rounding::Down,
            _ => Rounding::Up,
        };
        Self {
            rounding,
            flush: bits & 4 != 0,
            saturate: bits & 8 != 0,
        }
    }
}

impl Style for Modes {
    #[inline(always)]
    fn rounding(self) -> Rounding {
        self.rounding
    }

    #[inline(always)]
    fn flush(self) -> bool {
        self.flush
    }

    #[inline(always)]
    fn saturate(self) -> bool {
        self.saturate
    }
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
pub(in crate::exec) fn add<F: Float, S: Style>(style: S, a: F, b: F) -> F {
    let (a, b) = (style.input(a), style.input(b));
    let sum = if style.is_nearest() {
        a.add(b)
    } else {
        directed::add(a, b, style.rounding())
    };
    style.output(sum, [b, a])
}

/// `sub`. A NaN subtrahend keeps its sign.
#[inline(always)]
pub(in crate::exec) fn sub<F: Float, S: Style>(style: S, a: F, b: F) -> F {
    let (a, b) = (style.input(a), style.input(b));
    let difference = if style.is_nearest() {
        a.add(b.negated())
    } else {
        directed::add(a, b.negated(), style.rounding())
    };
    style.output(difference, [b, a])
}

/// `mul`
#[inline(always)]
pub(in crate::exec) fn mul<F: Float, S: Style>(style: S, a: F, b: F) -> F {
    let (a, b) = (style.input(a), style.input(b));
    let product = if style.is_nearest() {
        a.mul(b)
    } else {
        directed::mul(a, b, style.rounding())
    };
    style.output(product, [b, a])
}

/// `fma`, and `mad` on anything newer than compute capability 1.x.
#[inline(always)]
pub(in crate::exec) fn fma<F: Float, S: Style>(style: S, a: F, b: F, c: F) -> F {
    let (a, b, c) = (style.input(a), style.input(b), style.input(c));
    let value = if style.is_nearest() {
        a.fma(b, c)
    } else {
        directed::fma(a, b, c, style.rounding())
    };
    style.output(value, [b, c, a])
}

/// `div`
#[inline(always)]
pub(in crate::exec) fn div<F: Float, S: Style>(style: S, a: F, b: F) -> F {
    let (a, b) = (style.input(a), style.input(b));
    let quotient = if style.is_nearest() {
        a.div(b)
    } else {
        directed::div(a, b, style.rounding())
    };
    style.output(quotient, [a, b])
}

/// `rcp`
#[inline(always)]
pub(in crate::exec) fn rcp<F: Float, S: Style>(style: S, a: F) -> F {
    div(style, F::of_bits(F::ONE), a)
}

/// `sqrt`
#[inline(always)]
pub(in crate::exec) fn sqrt<F: Float, S: Style>(style: S, a: F) -> F {
    let a = style.input(a);
    let root = if style.is_nearest() {
        a.sqrt()
    } else {
        directed::sqrt(a, style.rounding())
    };
    style.output(root, [a])
}

/// `abs`
#[inline(always)]
pub(in crate::exec) fn abs<F: Float, S: Style>(style: S, a: F) -> F {
    let magnitude = style.input(a).bits() & ((1 << (F::WIDTH - 1)) - 1);
    style.output(F::of_bits(magnitude), [a])
}

/// `neg`
#[inline(always)]
pub(in crate::exec) fn neg<F: Float, S: Style>(style: S, a: F) -> F {
    style.output(F::of_bits(style.input(a).bits() ^ 1 << (F::WIDTH - 1)), [a])
}

/// `min`: a number rather than a NaN, -0 rather than +0.
#[inline(always)]
pub(in crate::exec) fn min<F: Float, S: Style>(style: S, a: F, b: F) -> F {
    let (a, b) = (style.input(a), style.input(b));
    let first = a < b || b.is_nan() || a == b && a.is_negative();
    style.output(if first { a } else { b }, [b, a])
}

/// `max`: a number rather than a NaN, +0 rather than -0.
#[inline(always)]
pub(in crate::exec) fn max<F: Float, S: Style>(style: S, a: F, b: F) -> F {
    let (a, b) = (style.input(a), style.input(b));
    let first = a > b || b.is_nan() || a == b && b.is_negative();
    style.output(if first { a } else { b }, [b, a])
}

/// `min.NaN`: a NaN if there is one.
#[inline(always)]
pub(in crate::exec) fn min_nan<F: Float, S: Style>(style: S, a: F, b: F) -> F {
    if a.is_nan() || b.is_nan() {
        F::nan([b, a])
    } else {
        min(style, a, b)
    }
}

/// `max.NaN`: a NaN if there is one.
#[inline(always)]
pub(in crate::exec) fn max_nan<F: Float, S: Style>(style: S, a: F, b: F) -> F {
    if a.is_nan() || b.is_nan() {
        F::nan([b, a])
    } else {
        max(style, a, b)
    }
}

/// `copysign`: the magnitude of `b` with the sign of `a`.
#[inline(always)]
pub(in crate::exec) fn copysign<F: Float>(a: F, b: F) -> F {
    let sign = 1 << (F::WIDTH - 1);
    F::of_bits(a.bits() & sign | b.bits() & (sign - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_survive_as_bits() {
        for bits in 0..16 {
            assert_eq!(Modes::of_bits(bits).bits(), bits);
        }
        let modes = Modes {
            rounding: Rounding::Up,
            flush: false,
            saturate: true,
        };
        assert_eq!(Modes::of_bits(modes.bits()), modes);
    }
}
