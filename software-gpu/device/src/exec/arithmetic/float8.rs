//! The formats of 8 bits: `e4m3` and `e5m2` (PTX ISA, "Alternate Floating-Point Data Formats").
//!
//! `e4m3` has no infinities and one NaN per sign; `e5m2` is the upper half of `f16`.

use half::f16;

/// A format of 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) struct Float8 {
    /// Bits of the fraction.
    fraction: u32,
    /// The bias of an exponent.
    bias: i32,
    /// The largest finite number.
    largest: u32,
}

/// Four bits of exponent, three of fraction.
pub(in crate::exec) const E4M3: Float8 = Float8 {
    fraction: 3,
    bias: 7,
    largest: 448,
};

/// Five bits of exponent, two of fraction.
pub(in crate::exec) const E5M2: Float8 = Float8 {
    fraction: 2,
    bias: 15,
    largest: 57344,
};

/// The canonical NaN.
const NAN: u8 = 0x7f;
const SIGN: u8 = 0x80;

impl Float8 {
    /// `.rn.satfinite`: to nearest, ties to even; what is larger than the largest number becomes that number.
    pub(in crate::exec) fn narrowed(self, value: f32, relu: bool) -> u8 {
        if value.is_nan() {
            return NAN;
        }
        if relu && value.is_sign_negative() {
            return 0;
        }
        let sign = if value.is_sign_negative() { SIGN } else { 0 };
        let magnitude = f64::from(value.abs()).min(f64::from(self.largest));
        // No number of 32 bits is subnormal in 64.
        let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
        let exponent = exponent.max(1 - self.bias);
        let units = magnitude * 2_f64.powi(self.fraction as i32 - exponent);
        // A fraction that is rounded up to the next power of two carries into the exponent.
        let code = (exponent + self.bias - 1) << self.fraction;
        sign | (code as u8 + units.round_ties_even() as u8)
    }

    /// Exactly, as `f16`.
    pub(in crate::exec) fn widened(self, code: u8, relu: bool) -> u16 {
        let magnitude = code & !SIGN;
        let nan = match self {
            E4M3 => magnitude == NAN,
            _ => u16::from(magnitude) << 8 > f16::INFINITY.to_bits(),
        };
        let bits = match self {
            _ if nan => return 0x7fff,
            E4M3 => self.e4m3_magnitude(magnitude),
            _ => u16::from(magnitude) << 8,
        };
        match (code & SIGN != 0, relu) {
            (true, true) => 0,
            (true, false) => bits | f16::NEG_ZERO.to_bits(),
            (false, _) => bits,
        }
    }

    fn e4m3_magnitude(self, magnitude: u8) -> u16 {
        let exponent = i32::from(magnitude >> self.fraction);
        let fraction = f32::from(magnitude & ((1 << self.fraction) - 1));
        let hidden = if exponent == 0 { 0.0 } else { 8.0 };
        let scale = exponent.max(1) - self.bias - self.fraction as i32;
        f16::from_f32((hidden + fraction) * 2_f32.powi(scale)).to_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a code by the definition of the formats; infinities and NaNs have no value.
    fn value(format: Float8, code: u8) -> Option<f64> {
        let (exponent, fraction) = match format {
            E4M3 => (code >> 3 & 0xf, f64::from(code & 7) / 8.0),
            _ => (code >> 2 & 0x1f, f64::from(code & 3) / 4.0),
        };
        let special = match format {
            E4M3 => code & 0x7f == 0x7f,
            _ => exponent == 0x1f,
        };
        let magnitude = match exponent {
            0 => fraction * 2_f64.powi(1 - format.bias),
            _ => (1.0 + fraction) * 2_f64.powi(i32::from(exponent) - format.bias),
        };
        let sign = if code & 0x80 == 0 { 1.0 } else { -1.0 };
        (!special).then_some(sign * magnitude)
    }

    /// The nearest code of the value's sign, the even one of two, by trying all.
    fn nearest(format: Float8, wanted: f32) -> u8 {
        let sign = if wanted.is_sign_negative() { 0x80 } else { 0 };
        (0..0x80_u8)
            .map(|code| code | sign)
            .filter_map(|code| Some((code, value(format, code)?)))
            .min_by(|(a, x), (b, y)| {
                let far = |v: &f64| (v - f64::from(wanted)).abs();
                far(x).total_cmp(&far(y)).then((a & 1).cmp(&(b & 1)))
            })
            .unwrap()
            .0
    }

    #[test]
    fn every_code_is_widened_exactly() {
        for format in [E4M3, E5M2] {
            for code in 0..=u8::MAX {
                let wide = f16::from_bits(format.widened(code, false));
                match value(format, code) {
                    Some(value) => {
                        assert_eq!(wide.to_f64(), value, "{format:?} {code:#x}");
                        assert_eq!(wide.is_sign_negative(), code & 0x80 != 0);
                        let positive = f16::from_bits(format.widened(code, true));
                        assert_eq!(
                            positive.to_bits(),
                            if code < 0x80 { wide.to_bits() } else { 0 }
                        );
                    }
                    None if format == E5M2 && code & 3 == 0 => assert!(wide.is_infinite()),
                    None => assert_eq!(wide.to_bits(), 0x7fff),
                }
            }
        }
    }

    /// On every code, every midpoint of two neighbours, and the numbers next to them.
    #[test]
    fn the_nearest_code_is_taken_and_ties_are_even() {
        for format in [E4M3, E5M2] {
            let values = (0..0x7f).filter_map(|code| Some(value(format, code)? as f32));
            let values: Vec<f32> = values.collect();
            let midpoints = values.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
            for exact in values.iter().copied().chain(midpoints) {
                for wanted in [exact, exact.next_up(), exact.next_down(), -exact] {
                    let code = format.narrowed(wanted, false);
                    assert_eq!(code, nearest(format, wanted), "{format:?} {wanted:e}");
                }
            }
        }
    }

    #[test]
    fn what_is_too_large_becomes_the_largest_number() {
        for (format, largest) in [(E4M3, 0x7e), (E5M2, 0x7b)] {
            for value in [f32::INFINITY, f32::MAX, format.largest as f32 * 1.5] {
                assert_eq!(format.narrowed(value, false), largest);
                assert_eq!(format.narrowed(-value, false), largest | 0x80);
                assert_eq!(format.narrowed(-value, true), 0);
            }
            assert_eq!(format.narrowed(-f32::NAN, true), 0x7f);
            assert_eq!(format.narrowed(-0.0, false), 0x80);
            assert_eq!(format.narrowed(-0.0, true), 0);
        }
    }
}
