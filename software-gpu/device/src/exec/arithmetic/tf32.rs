//! The format `tf32` (PTX ISA, "Alternate Floating-Point Data Formats"): the range of `f32` with 10 bits of fraction. A
//! register holds its 19 bits above 13 that are zero.

/// How a number is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) enum Tf32Rounding {
    /// `.rna`: to nearest, ties away from zero.
    NearestAway,
    /// `.rn`: to nearest, ties to even.
    NearestEven,
    /// `.rz`: towards zero.
    Zero,
}

/// The bits of a register that a number does not have.
const BELOW: u32 = (1 << 13) - 1;
const SIGN: u32 = 1 << 31;
const INFINITY: u32 = f32::INFINITY.to_bits();
const LARGEST: u32 = f32::MAX.to_bits() & !BELOW;
/// The canonical NaN.
const NAN: u32 = 0x7fff_ffff;

/// The number as `tf32`. `finite` puts the largest number in place of an infinity, `relu` zero in place of negative numbers.
pub(in crate::exec) fn narrowed(
    value: f32,
    rounding: Tf32Rounding,
    finite: bool,
    relu: bool,
) -> u32 {
    if value.is_nan() {
        return NAN;
    }
    let sign = value.to_bits() & SIGN;
    if relu && sign != 0 {
        return 0;
    }
    let magnitude = value.to_bits() & !SIGN;
    let is_odd = magnitude >> 13 & 1;
    // What carries into the exponent makes the next power of two, and in the end infinity.
    let rounded = match rounding {
        Tf32Rounding::NearestAway => magnitude + (1 << 12),
        Tf32Rounding::NearestEven => magnitude + (1 << 12) - 1 + is_odd,
        Tf32Rounding::Zero => magnitude,
    } & !BELOW;
    sign | match finite && rounded == INFINITY {
        true => LARGEST,
        false => rounded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUNDINGS: [Tf32Rounding; 3] = [
        Tf32Rounding::NearestAway,
        Tf32Rounding::NearestEven,
        Tf32Rounding::Zero,
    ];

    /// The two numbers beside a magnitude of `f32`, by the definition of the format: multiples of 2 to the power of the exponent
    /// less 10.
    fn neighbours(magnitude: f32) -> [f64; 2] {
        let wide = f64::from(magnitude);
        // No number of 32 bits is subnormal in 64.
        let exponent = ((wide.to_bits() >> 52) as i32 - 1023).max(-126);
        let unit = 2_f64.powi(exponent - 10);
        let below = (wide / unit).floor() * unit;
        [below, below + unit]
    }

    /// The result by the definition of the rounding.
    fn expected(magnitude: f32, rounding: Tf32Rounding) -> f64 {
        let wide = f64::from(magnitude);
        let [below, above] = neighbours(magnitude);
        if below == wide || rounding == Tf32Rounding::Zero {
            return below;
        }
        let is_even = (below as f32).to_bits() >> 13 & 1 == 0;
        let to_below = match (wide - below).total_cmp(&(above - wide)) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => rounding == Tf32Rounding::NearestEven && is_even,
            std::cmp::Ordering::Greater => false,
        };
        if to_below { below } else { above }
    }

    /// All exponents, and the fractions around multiples of half a unit.
    fn magnitudes() -> impl Iterator<Item = u32> {
        let units = [0, 1, 2, 3, 0x1ff, 0x200, 0x3fe, 0x3ff];
        let parts = [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff];
        let fraction = move |units: u32| parts.map(move |part| units << 13 | part);
        (0..255_u32).flat_map(move |exponent| {
            units
                .into_iter()
                .flat_map(fraction)
                .map(move |fraction| exponent << 23 | fraction)
        })
    }

    #[test]
    fn numbers_are_rounded_by_the_definition() {
        let largest = f64::from(f32::from_bits(LARGEST));
        for rounding in ROUNDINGS {
            for bits in magnitudes() {
                let value = f32::from_bits(bits);
                let wanted = expected(value, rounding);
                // Infinite as `f32` is what no number is as large as.
                let wanted_bits = (wanted as f32).to_bits();
                assert_eq!(
                    narrowed(value, rounding, false, false),
                    wanted_bits,
                    "{bits:#x}"
                );
                assert_eq!(
                    narrowed(-value, rounding, false, false),
                    wanted_bits | SIGN,
                    "-{bits:#x}"
                );
                let finite = (wanted.min(largest) as f32).to_bits();
                assert_eq!(
                    narrowed(value, rounding, true, false),
                    finite,
                    "{bits:#x}, finite"
                );
                assert_eq!(wanted_bits & BELOW, 0);
            }
        }
    }

    #[test]
    fn infinities_stay_unless_numbers_are_to_be_finite() {
        for rounding in ROUNDINGS {
            assert_eq!(narrowed(f32::INFINITY, rounding, false, false), INFINITY);
            let negative = narrowed(f32::NEG_INFINITY, rounding, true, false);
            assert_eq!(negative, LARGEST | SIGN);
        }
        let largest = |rounding| narrowed(f32::MAX, rounding, false, false);
        assert_eq!(ROUNDINGS.map(largest), [INFINITY, INFINITY, LARGEST]);
    }

    #[test]
    fn negative_numbers_become_zero_and_all_nans_one() {
        for rounding in ROUNDINGS {
            for negative in [-1.0, -0.0, f32::NEG_INFINITY] {
                assert_eq!(narrowed(negative, rounding, false, true), 0);
            }
            for nan in [0x7f80_0001, 0xffc0_0000] {
                assert_eq!(narrowed(f32::from_bits(nan), rounding, true, true), NAN);
            }
        }
    }
}
