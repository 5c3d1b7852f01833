//! Exact results of floating-point operations, to be rounded once.
//!
//! A processor rounds to nearest; changing its mode for one operation would be slow and is not expressible in Rust.
//! Directed rounding is rare in kernels, so that it is done in integers here: plain, and correct by construction.

use super::format::{Format, Rounding};

/// `(-1)^negative * significand * 2^exponent`. Bit 0 of the significand stands for everything below it as well: it is
/// set where the value is not exact ("sticky"). Every operation keeps it far below the bits that a format stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) struct Exact {
    negative: bool,
    exponent: i32,
    significand: u128,
}

impl Exact {
    /// The value of a finite number.
    #[inline(never)]
    pub fn of<F: Format>(value: F) -> Option<Self> {
        let bits = value.bits();
        let fraction_bits = F::PRECISION - 1;
        let field = (bits >> fraction_bits) as u32 & F::EXPONENT_MASK;
        if field == F::EXPONENT_MASK {
            return None;
        }
        let fraction = bits & ((1 << fraction_bits) - 1);
        let hidden = u64::from(field != 0) << fraction_bits;
        Some(Self {
            negative: bits >> (F::WIDTH - 1) != 0,
            exponent: F::LOWEST + field.max(1) as i32 - 1,
            significand: u128::from(hidden | fraction),
        })
    }

    /// The value of an integer.
    pub fn of_integer(value: i128) -> Self {
        Self {
            negative: value < 0,
            exponent: 0,
            significand: value.unsigned_abs(),
        }
    }

    pub fn is_zero(self) -> bool {
        self.significand == 0
    }

    pub fn is_negative(self) -> bool {
        self.negative
    }

    /// The sum. The mode decides the sign of an exact zero.
    pub fn plus(self, other: Self, mode: Rounding) -> Self {
        if self.is_zero() && other.is_zero() {
            let negative = match self.negative == other.negative {
                true => self.negative,
                false => mode == Rounding::Down,
            };
            return Self { negative, ..self };
        }
        if self.is_zero() {
            return other;
        }
        if other.is_zero() {
            return self;
        }
        let (x, y) = (self.normalised(), other.normalised());
        let (large, small) = if (x.exponent, x.significand) >= (y.exponent, y.significand) {
            (x, y)
        } else {
            (y, x)
        };
        let aligned = shift_right(small.significand, large.exponent.abs_diff(small.exponent));
        let significand = match large.negative == small.negative {
            true => large.significand + aligned,
            false => large.significand - aligned,
        };
        Self {
            negative: if significand == 0 {
                mode == Rounding::Down
            } else {
                large.negative
            },
            significand,
            ..large
        }
    }

    /// The product of two numbers of at most 64 significant bits.
    pub fn times(self, other: Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            exponent: self.exponent + other.exponent,
            significand: self.significand * other.significand,
        }
    }

    /// The quotient of two numbers of at most 53 significant bits, neither of them zero.
    pub fn divided_by(self, other: Self) -> Self {
        let dividend = self.normalised();
        let inexact = !dividend.significand.is_multiple_of(other.significand);
        Self {
            negative: self.negative != other.negative,
            exponent: dividend.exponent - other.exponent,
            significand: ((dividend.significand / other.significand) << 1) | u128::from(inexact),
        }
        .halved()
    }

    /// The square root of a positive number.
    pub fn square_root(self) -> Self {
        let mut x = self.normalised();
        if x.exponent & 1 != 0 {
            x.significand <<= 1;
            x.exponent -= 1;
        }
        let root = x.significand.isqrt();
        let inexact = root * root != x.significand;
        Self {
            negative: false,
            exponent: x.exponent / 2,
            significand: (root << 1) | u128::from(inexact),
        }
        .halved()
    }

    /// The nearest value of a format in the given direction.
    #[inline(never)]
    pub fn round<F: Format>(self, mode: Rounding) -> F {
        let sign = u64::from(self.negative) << (F::WIDTH - 1);
        if self.is_zero() {
            return F::of_bits(sign);
        }
        let top = 127 - self.significand.leading_zeros() as i32;
        let lowest = (self.exponent + top + 1 - F::PRECISION as i32).max(F::LOWEST);
        let kept = match lowest - self.exponent {
            shift @ 1.. => self.rounded_off(shift as u32, mode),
            shift => (self.significand << -shift) as u64,
        };
        // A carry out of the fraction raises the exponent field, which is what it should do.
        let magnitude = (((lowest - F::LOWEST) as u64) << (F::PRECISION - 1)) + kept;
        let infinity = u64::from(F::EXPONENT_MASK) << (F::PRECISION - 1);
        let overflow = match mode {
            Rounding::Nearest => infinity,
            mode if mode.grows(self.negative) => infinity,
            _ => infinity - 1,
        };
        F::of_bits(
            sign | if magnitude >= infinity {
                overflow
            } else {
                magnitude
            },
        )
    }

    /// The value rounded to an integral one.
    pub fn integral(self, mode: Rounding) -> Self {
        match self.exponent {
            0.. => self,
            exponent => Self {
                exponent: 0,
                significand: self.rounded_off(-exponent as u32, mode).into(),
                ..self
            },
        }
    }

    /// The value rounded to an integer, or one beyond all integer types.
    #[inline(never)]
    pub fn to_integer(self, mode: Rounding) -> i128 {
        let value = self.integral(mode);
        let magnitude = match value.exponent {
            0..64 => (value.significand << value.exponent) as i128,
            _ if value.is_zero() => 0,
            _ => i128::MAX,
        };
        if self.negative { -magnitude } else { magnitude }
    }

    /// The significand without its lowest `shift` bits.
    fn rounded_off(self, shift: u32, mode: Rounding) -> u64 {
        let kept = self.significand.checked_shr(shift).unwrap_or(0) as u64;
        let rest = match shift {
            128.. => self.significand,
            _ => self.significand & ((1 << shift) - 1),
        };
        let up = match mode {
            Rounding::Nearest => match shift {
                129.. => false,
                _ => {
                    let half = 1 << (shift - 1);
                    rest > half || rest == half && kept & 1 != 0
                }
            },
            mode => rest != 0 && mode.grows(self.negative),
        };
        kept + u64::from(up)
    }

    /// The same value with its first bit at position 125: two of them can be added.
    fn normalised(self) -> Self {
        let shift = self.significand.leading_zeros() as i32 - 2;
        match shift {
            0.. => Self {
                significand: self.significand << shift,
                exponent: self.exponent - shift,
                ..self
            },
            _ => Self {
                significand: shift_right(self.significand, -shift as u32),
                exponent: self.exponent - shift,
                ..self
            },
        }
    }

    /// Half the value: the significand has one bit more than its exponent says.
    fn halved(self) -> Self {
        Self {
            exponent: self.exponent - 1,
            ..self
        }
    }
}

/// A right shift that keeps in bit 0 whether bits were lost.
fn shift_right(significand: u128, shift: u32) -> u128 {
    match shift {
        0 => significand,
        128.. => u128::from(significand != 0),
        _ => significand >> shift | u128::from(significand << (128 - shift) != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rounding_to_nearest_agrees_with_the_processor(a: u64, b: u64, c: u64) {
            let (x, y, z) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
            let (Some(p), Some(q), Some(r)) = (Exact::of(x), Exact::of(y), Exact::of(z)) else {
                return Ok(());
            };
            let near = Rounding::Nearest;
            prop_assert_eq!(p.plus(q, near).round::<f64>(near).to_bits(), (x + y).to_bits());
            prop_assert_eq!(p.times(q).round::<f64>(near).to_bits(), (x * y).to_bits());
            prop_assert_eq!(p.times(q).plus(r, near).round::<f64>(near).to_bits(), x.mul_add(y, z).to_bits());
            prop_assert_eq!(p.round::<f32>(near).to_bits(), (x as f32).to_bits());
            if !q.is_zero() && !p.is_zero() {
                prop_assert_eq!(p.divided_by(q).round::<f64>(near).to_bits(), (x / y).to_bits());
            }
            if !p.is_zero() {
                prop_assert_eq!(
                    Exact::of(x.abs()).unwrap().square_root().round::<f64>(near).to_bits(),
                    x.abs().sqrt().to_bits()
                );
            }
        }

        #[test]
        fn close_operands_cancel_as_on_the_processor(a in 0x3ff0_0000_0000_0000..0x4010_0000_0000_0000u64, delta in -4i64..4) {
            let (x, y) = (f64::from_bits(a), -f64::from_bits(a.wrapping_add_signed(delta)));
            let (p, q) = (Exact::of(x).unwrap(), Exact::of(y).unwrap());
            let near = Rounding::Nearest;
            prop_assert_eq!(p.plus(q, near).round::<f64>(near).to_bits(), (x + y).to_bits());
            prop_assert_eq!(
                p.times(p).plus(Exact::of(-(x * x)).unwrap(), near).round::<f64>(near).to_bits(),
                x.mul_add(x, -(x * x)).to_bits()
            );
        }

        #[test]
        fn directed_roundings_enclose_the_product(a: u32, b: u32) {
            let (x, y) = (f32::from_bits(a), f32::from_bits(b));
            let (Some(p), Some(q)) = (Exact::of(x), Exact::of(y)) else {
                return Ok(());
            };
            let exact = f64::from(x) * f64::from(y);
            let rounded = |mode| f64::from(p.times(q).round::<f32>(mode));
            let (down, up) = (rounded(Rounding::Down), rounded(Rounding::Up));
            prop_assert!(down <= exact && exact <= up);
            prop_assert_eq!((down as f32) < (up as f32), down != exact);
            let zero = if exact < 0.0 { up } else { down };
            prop_assert_eq!(rounded(Rounding::Zero).to_bits(), zero.to_bits());
        }

        #[test]
        fn integers_convert_as_on_the_processor(value: i64, shift in 0u32..63) {
            let value = value >> shift;
            prop_assert_eq!(Exact::of_integer(value.into()).round::<f32>(Rounding::Nearest), value as f32);
            prop_assert_eq!(Exact::of_integer(value.into()).round::<f64>(Rounding::Nearest), value as f64);
        }
    }

    #[test]
    fn an_exact_zero_is_negative_only_when_rounding_down() {
        let one = Exact::of(1.0f32).unwrap();
        for mode in [
            Rounding::Nearest,
            Rounding::Zero,
            Rounding::Up,
            Rounding::Down,
        ] {
            let zero: f32 = one.plus(Exact::of(-1.0f32).unwrap(), mode).round(mode);
            assert_eq!(zero.is_sign_negative(), mode == Rounding::Down);
        }
    }
}
