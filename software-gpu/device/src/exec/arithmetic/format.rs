//! Floating-point formats and how a result becomes a value of one.

use half::{bf16, f16};

use super::super::lane::Lane;

/// The rounding modes `.rn`, `.rz`, `.rm`, `.rp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::exec) enum Rounding {
    #[default]
    Nearest,
    Zero,
    Down,
    Up,
}

impl Rounding {
    /// The mode called `name`, with or without the `i` of roundings to an integral value.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "rn" | "rni" => Self::Nearest,
            "rz" | "rzi" => Self::Zero,
            "rm" | "rmi" => Self::Down,
            "rp" | "rpi" => Self::Up,
            _ => return None,
        })
    }

    /// Whether a directed mode rounds an inexact value of that sign to the larger magnitude.
    pub fn grows(self, negative: bool) -> bool {
        match self {
            Self::Nearest | Self::Zero => false,
            Self::Down => negative,
            Self::Up => !negative,
        }
    }
}

/// A binary floating-point format.
pub(in crate::exec) trait Format: Lane + PartialOrd {
    /// All bits.
    const WIDTH: u32;
    /// Bits of the significand, the hidden one included.
    const PRECISION: u32;
    /// The exponent of the lowest bit of subnormal numbers.
    const LOWEST: i32;
    /// The exponent field of infinities.
    const EXPONENT_MASK: u32 = (1 << (Self::WIDTH - Self::PRECISION)) - 1;

    fn bits(self) -> u64;
    fn of_bits(bits: u64) -> Self;

    /// The NaN that an operation gives on `operands`, the first of which has precedence.
    ///
    /// All formats but `f64` have one NaN. Units for `f64` pass a NaN operand on, made quiet.
    fn nan<const N: usize>(operands: [Self; N]) -> Self;

    #[inline(always)]
    fn is_nan(self) -> bool {
        #[allow(clippy::eq_op, reason = "a NaN differs from itself")]
        {
            self != self
        }
    }

    /// `value` unless it is a NaN, which becomes the one the device gives.
    ///
    /// In integers: which NaN an operation gives is undefined to the compiler, and so a choice between one and another
    /// may be optimised away.
    #[inline(always)]
    fn settled<const N: usize>(value: Self, operands: [Self; N]) -> Self {
        let bits = value.bits();
        let infinity = u64::from(Self::EXPONENT_MASK) << (Self::PRECISION - 1);
        let is_nan = bits & ((1 << (Self::WIDTH - 1)) - 1) > infinity;
        Self::of_bits(if is_nan {
            Self::nan(operands).bits()
        } else {
            bits
        })
    }

    /// The number with the sign bit of `negative` zero or one.
    #[inline(always)]
    fn is_negative(self) -> bool {
        self.bits() >> (Self::WIDTH - 1) != 0
    }

    /// Subnormal numbers become zeros of their sign.
    #[inline(always)]
    fn flushed(self) -> Self {
        let sign = 1 << (Self::WIDTH - 1);
        let magnitude = self.bits() & (sign - 1);
        if magnitude >> (Self::PRECISION - 1) == 0 {
            Self::of_bits(self.bits() & sign)
        } else {
            self
        }
    }

    /// Clamped to [0, 1]; a NaN becomes 0.
    #[inline(always)]
    fn saturated(self) -> Self {
        let (zero, one) = (Self::of_bits(0), Self::of_bits(Self::ONE));
        if self > one {
            one
        } else if self > zero {
            self
        } else {
            zero
        }
    }

    /// The bits of 1.
    const ONE: u64 = ((Self::EXPONENT_MASK >> 1) as u64) << (Self::PRECISION - 1);
}

impl Format for f32 {
    const WIDTH: u32 = 32;
    const PRECISION: u32 = 24;
    const LOWEST: i32 = -149;

    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits().into()
    }

    #[inline(always)]
    fn of_bits(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }

    #[inline(always)]
    fn nan<const N: usize>(_: [Self; N]) -> Self {
        f32::from_bits(0x7fff_ffff)
    }
}

impl Format for f64 {
    const WIDTH: u32 = 64;
    const PRECISION: u32 = 53;
    const LOWEST: i32 = -1074;

    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits()
    }

    #[inline(always)]
    fn of_bits(bits: u64) -> Self {
        f64::from_bits(bits)
    }

    #[inline(always)]
    fn nan<const N: usize>(operands: [Self; N]) -> Self {
        let mut nan = 0xfff8_0000_0000_0000;
        for operand in operands.iter().rev() {
            if operand.is_nan() {
                nan = operand.to_bits() | 1 << 51;
            }
        }
        f64::from_bits(nan)
    }
}

macro_rules! half_formats {
    ($($half:ident: $precision:literal, $lowest:literal;)*) => {$(
        impl Lane for $half {
            type Cell = u32;

            #[inline(always)]
            fn from_cell(cell: u32) -> Self {
                $half::from_bits(cell as u16)
            }

            #[inline(always)]
            fn to_cell(self) -> u32 {
                self.to_bits().into()
            }
        }

        impl Format for $half {
            const WIDTH: u32 = 16;
            const PRECISION: u32 = $precision;
            const LOWEST: i32 = $lowest;

            #[inline(always)]
            fn bits(self) -> u64 {
                self.to_bits().into()
            }

            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                $half::from_bits(bits as u16)
            }

            #[inline(always)]
            fn nan<const N: usize>(_: [Self; N]) -> Self {
                $half::from_bits(0x7fff)
            }
        }
    )*};
}

half_formats! {
    f16: 11, -24;
    bf16: 8, -133;
}
