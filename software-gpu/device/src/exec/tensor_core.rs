//! The sums of a tensor core: `d = a * b + c` with factors of 16 bits and sums of 32.
//!
//! PTX leaves order and precision of the additions to the device. NVIDIA's tensor cores add the products of a *group* and
//! the sum so far at once: all are aligned to the largest exponent among them, what lies below [`AccumulationRule::fraction`] bits
//! behind its point is cut off, the rest is added exactly, and the sum is cut off to 32 bits. The exponent of a product is
//! the sum of the exponents of its factors, whether the product of their significands reaches 2 or not.
//!
//! [`multiply`] computes a strip of columns with numbers of 32 bits as long as nothing can leave their range; for other operands
//! there is [`sum`], one element with integers.

use half::{bf16, f16};

/// Products of one instruction's element.
pub(super) const DEPTH: usize = 16;
/// Columns of a strip.
pub(super) const COLUMNS: usize = 8;
/// Rows of a warp's part.
pub(super) const ROWS: usize = 16;
/// The NaN that arithmetic returns.
const NAN: u32 = 0x7fff_ffff;
/// Exponents of factors up to here, and down to its negative, leave the products, and what is aligned to them, in the range of
/// 32 bits. For sums so far it is twice as much.
const PLAIN: i32 = 40;

/// How a generation adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccumulationRule {
    /// Products that are added at once.
    pub group: usize,
    /// Bits behind the point of the largest summand that are kept.
    pub fraction: i32,
}

impl AccumulationRule {
    /// Measured on an H200: `mma.sync` and `wgmma` agree, with factors of either format.
    pub const HOPPER: Self = Self {
        group: 16,
        fraction: 25,
    };
    /// As published for the A100; not verified here.
    pub const AMPERE: Self = Self {
        group: 8,
        fraction: 24,
    };

    /// That of the devices of a major compute capability; later ones than Hopper are taken to add as it does.
    pub fn of(major: u32) -> Self {
        match major {
            9.. => Self::HOPPER,
            _ => Self::AMPERE,
        }
    }
}

/// A number in parts: `significand * 2^(exponent - fraction bits)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parts {
    Finite {
        negative: bool,
        significand: u64,
        exponent: i32,
    },
    Infinite {
        negative: bool,
    },
    NotANumber,
}

/// A format of factors.
pub(super) trait Factor: 'static {
    /// Bits of the fraction, and the bias of the exponent.
    const FRACTION: u32;
    const BIAS: i32;
    /// The number as one of 32 bits.
    fn single(bits: u16) -> f32;
}

impl Factor for bf16 {
    const FRACTION: u32 = 7;
    const BIAS: i32 = 127;

    #[inline(always)]
    fn single(bits: u16) -> f32 {
        f32::from_bits(u32::from(bits) << 16)
    }
}

impl Factor for f16 {
    const FRACTION: u32 = 10;
    const BIAS: i32 = 15;

    #[inline(always)]
    fn single(bits: u16) -> f32 {
        // The exponent field of the wider format with the narrow format's bias: a multiplication corrects it, also for subnormals.
        const REBIAS: f32 = f32::from_bits((127 + 112) << 23);
        let magnitude = f32::from_bits(u32::from(bits & 0x7fff) << 13) * REBIAS;
        f32::from_bits(magnitude.to_bits() | u32::from(bits & 0x8000) << 16)
    }
}

/// The parts of a number in a format with `fraction` bits of fraction and this bias.
fn parts(bits: u32, width: u32, fraction: u32, bias: i32) -> Parts {
    let negative = bits >> (width - 1) & 1 != 0;
    let mask = (1 << (width - 1 - fraction)) - 1;
    let field = bits >> fraction & mask;
    let low = u64::from(bits & ((1 << fraction) - 1));
    match (field == mask, low) {
        (true, 0) => Parts::Infinite { negative },
        (true, _) => Parts::NotANumber,
        (false, low) => Parts::Finite {
            negative,
            significand: if field == 0 { low } else { low | 1 << fraction },
            exponent: (field.max(1) as i32) - bias,
        },
    }
}

/// The product of two factors; its significand has twice as many bits of fraction as theirs.
fn product(a: Parts, b: Parts) -> Parts {
    match (a, b) {
        (Parts::NotANumber, _) | (_, Parts::NotANumber) => Parts::NotANumber,
        (
            Parts::Finite {
                negative: a_negative,
                significand: a,
                exponent: a_exponent,
            },
            Parts::Finite {
                negative: b_negative,
                significand: b,
                exponent: b_exponent,
            },
        ) => Parts::Finite {
            negative: a_negative != b_negative,
            significand: a * b,
            exponent: a_exponent + b_exponent,
        },
        (Parts::Infinite { negative: first }, other)
        | (other, Parts::Infinite { negative: first }) => match other {
            Parts::Finite { significand: 0, .. } | Parts::NotANumber => Parts::NotANumber,
            Parts::Finite { negative, .. } | Parts::Infinite { negative } => Parts::Infinite {
                negative: first != negative,
            },
        },
    }
}

/// `c` and the products of a row and a column, added as the rule says.
pub(super) fn sum<F: Factor>(
    rule: AccumulationRule,
    a: &[u16; DEPTH],
    b: &[u16; DEPTH],
    c: u32,
) -> u32 {
    let mut sum = c;
    for (a, b) in a.chunks(rule.group).zip(b.chunks(rule.group)) {
        sum = sum_of_group::<F>(rule, a, b, sum);
    }
    sum
}

fn sum_of_group<F: Factor>(rule: AccumulationRule, a: &[u16], b: &[u16], c: u32) -> u32 {
    let factor = |bits: &u16| parts((*bits).into(), 16, F::FRACTION, F::BIAS);
    let products = a.iter().zip(b).map(|(a, b)| product(factor(a), factor(b)));
    let mut summands = [(Parts::NotANumber, 0); DEPTH + 1];
    summands[0] = (parts(c, 32, 23, 127), 23);
    let count = 1 + a.len();
    for (to, product) in summands[1..].iter_mut().zip(products) {
        *to = (product, 2 * F::FRACTION);
    }
    finish(rule, &summands[..count])
}

/// Adds numbers, each with the number of its bits of fraction.
fn finish(rule: AccumulationRule, summands: &[(Parts, u32)]) -> u32 {
    let mut infinite = [false; 2];
    let mut largest = None;
    for (summand, _) in summands {
        match *summand {
            Parts::NotANumber => return NAN,
            Parts::Infinite { negative } => infinite[usize::from(negative)] = true,
            Parts::Finite { significand: 0, .. } => {}
            Parts::Finite { exponent, .. } => largest = largest.max(Some(exponent)),
        }
    }
    match infinite {
        [true, true] => return NAN,
        [true, false] => return f32::INFINITY.to_bits(),
        [false, true] => return f32::NEG_INFINITY.to_bits(),
        [false, false] => {}
    }
    let Some(largest) = largest else { return 0 };
    let mut sum = 0_i64;
    for (summand, bits) in summands {
        let (negative, significand, exponent) = match *summand {
            Parts::Finite {
                negative,
                significand: significand @ 1..,
                exponent,
            } => (negative, significand, exponent),
            _ => continue,
        };
        let shift = exponent - largest + rule.fraction - *bits as i32;
        let magnitude = match shift {
            0.. => significand << shift,
            -63..0 => significand >> -shift,
            _ => 0,
        };
        let aligned = magnitude.cast_signed();
        sum += if negative { -aligned } else { aligned };
    }
    truncated(sum, largest - rule.fraction)
}

/// `sum * 2^exponent` as a number of 32 bits, what is too much cut off.
fn truncated(sum: i64, exponent: i32) -> u32 {
    let sign = if sum < 0 { 1 << 31 } else { 0 };
    let magnitude = sum.unsigned_abs();
    if magnitude == 0 {
        return 0;
    }
    let top = 63 - magnitude.leading_zeros().cast_signed();
    if top + exponent > 127 {
        return sign | f32::INFINITY.to_bits();
    }
    // The exponent of the last bit that is kept.
    let last = (top + exponent - 23).max(-149);
    let kept = match last - exponent {
        shift @ 0..=63 => magnitude >> shift,
        shift @ ..0 => magnitude << -shift,
        _ => 0,
    };
    // The leading one of a normal number adds one to the field of the exponent.
    let field = (last + 149) as u32;
    sign | (field << 23).wrapping_add(kept as u32)
}

/// Factors as vectors of numbers, and the powers of two in them.
#[derive(Clone)]
pub(super) struct Factors<const WIDTH: usize> {
    pub bits: [[u16; WIDTH]; DEPTH],
    value: [[f32; WIDTH]; DEPTH],
    power: [[f32; WIDTH]; DEPTH],
    /// All are zero or of a moderate exponent.
    plain: bool,
}

impl<const WIDTH: usize> Factors<WIDTH> {
    /// Zeros.
    #[inline(always)]
    pub fn new() -> Self {
        Self {
            bits: [[0; WIDTH]; DEPTH],
            value: [[0.0; WIDTH]; DEPTH],
            power: [[0.0; WIDTH]; DEPTH],
            plain: true,
        }
    }

    /// Takes the numbers in `bits`, by `[k][row or column]`.
    #[inline(always)]
    pub fn decode<F: Factor>(&mut self) {
        let values = self.value.as_flattened_mut().iter_mut();
        let powers = self.power.as_flattened_mut().iter_mut();
        let mut wild = 0;
        for ((bits, value), power) in self.bits.as_flattened().iter().zip(values).zip(powers) {
            let is_wild;
            (*value, *power, is_wild) = decoded::<F>(*bits);
            wild |= is_wild;
        }
        self.plain = wild == 0;
    }
}

/// The value of a factor, the power of two in it, and not 0 if its exponent is not moderate.
#[inline(always)]
fn decoded<F: Factor>(bits: u16) -> (f32, f32, u32) {
    let mask = (1_u32 << (15 - F::FRACTION)) - 1;
    let field = u32::from(bits) >> F::FRACTION & mask;
    let is_zero = u32::from(bits & 0x7fff == 0);
    let exponent = field.max(1).cast_signed().wrapping_sub(F::BIAS);
    let power = (exponent.wrapping_add(127) as u32) << 23 & is_zero.wrapping_sub(1);
    let wild = u32::from(exponent.wrapping_abs() > PLAIN) | u32::from(field == mask);
    (F::single(bits), f32::from_bits(power), wild & (is_zero ^ 1))
}

/// Sums of a strip of columns, by row.
pub(super) type Sums = [[u32; COLUMNS]; ROWS];

/// `a * b + sums` for 16 rows (`a` by `[k][row]`) and a strip of columns (`b` by `[k][column]`).
#[inline(always)]
pub(super) fn multiply<F: Factor>(
    rule: AccumulationRule,
    a: &Factors<ROWS>,
    b: &Factors<COLUMNS>,
    sums: &mut Sums,
) {
    if !(a.plain && b.plain && are_plain(sums)) {
        return multiply_exactly::<F>(rule, a, b, sums);
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature.
        return unsafe { avx2::add_groups(rule, a, b, sums) };
    }
    add_groups(rule, a, b, sums);
}

#[cold]
#[inline(never)]
fn multiply_exactly<F: Factor>(
    rule: AccumulationRule,
    a: &Factors<ROWS>,
    b: &Factors<COLUMNS>,
    sums: &mut Sums,
) {
    for (row, sums) in sums.iter_mut().enumerate() {
        let a = a.bits.map(|rows| rows[row]);
        for (column, so_far) in sums.iter_mut().enumerate() {
            let b = b.bits.map(|columns| columns[column]);
            *so_far = sum::<F>(rule, &a, &b, *so_far);
        }
    }
}

/// Whether all sums are zero or of an exponent that is at most twice the moderate one.
#[inline(always)]
fn are_plain(sums: &Sums) -> bool {
    let wild = sums.as_flattened().iter().fold(0, |wild, bits| {
        let exponent = (*bits >> 23 & 0xff).cast_signed().wrapping_sub(127);
        let is_wild = u32::from(exponent.wrapping_abs() > 2 * PLAIN);
        wild | is_wild & u32::from(*bits << 1 != 0)
    });
    wild == 0
}

/// The bits of a power of two that is less than any of a plain number.
const LEAST: u32 = ((127 - 2 * PLAIN - 1) as u32) << 23;
/// The exponent of a number of 32 bits.
const EXPONENT: u32 = 0x7f80_0000;
/// Twice the bias of an exponent, in its place: subtracting the bits of a power of two gives those of its inverse.
const INVERSE: u32 = 254 << 23;
/// The bits of a number of 64 bits that one of 32 bits has, in whose range it is.
const KEPT: u64 = !((1 << 29) - 1);

/// All products, and the sums so far, group by group.
fn add_groups(rule: AccumulationRule, a: &Factors<ROWS>, b: &Factors<COLUMNS>, sums: &mut Sums) {
    for first in (0..DEPTH).step_by(rule.group) {
        for (row, sums) in sums.iter_mut().enumerate() {
            for (column, sum) in sums.iter_mut().enumerate() {
                let group = first..first + rule.group;
                let power = |k: usize| a.power[k][row] * b.power[k][column];
                let before = f32::from_bits((*sum & EXPONENT).max(LEAST));
                let largest = group.clone().map(power).fold(before, f32::max).to_bits();
                let fraction = (rule.fraction as u32) << 23;
                let scale = f32::from_bits(INVERSE - largest + fraction);
                let aligned = |k: usize| (a.value[k][row] * b.value[k][column] * scale) as i64;
                let total = (f32::from_bits(*sum) * scale) as i64 + group.map(aligned).sum::<i64>();
                let total = total as f64 * f64::from(f32::from_bits(largest - fraction));
                *sum = (f64::from_bits(total.to_bits() & KEPT) as f32).to_bits();
            }
        }
    }
}

/// The same with vectors of the eight columns.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{AccumulationRule, COLUMNS, EXPONENT, Factors, INVERSE, KEPT, LEAST, ROWS, Sums};

    /// Products of which the sum, in units of the last bit that is kept, has 32 bits: each has 28.
    const HALF: usize = 8;

    /// Eight rows of A or B by `[k]`.
    type EightRows<const WIDTH: usize> = [[f32; WIDTH]; HALF];

    #[target_feature(enable = "avx2")]
    pub fn add_groups(
        rule: AccumulationRule,
        a: &Factors<ROWS>,
        b: &Factors<COLUMNS>,
        sums: &mut Sums,
    ) {
        let (a_powers, _) = a.power.as_chunks::<HALF>();
        let (b_powers, _) = b.power.as_chunks::<HALF>();
        let (a_values, _) = a.value.as_chunks::<HALF>();
        let (b_values, _) = b.value.as_chunks::<HALF>();
        let halves = rule.group / HALF;
        let fraction = _mm256_set1_epi32(rule.fraction << 23);
        for first in (0..a_powers.len()).step_by(halves) {
            for (row, sums) in sums.iter_mut().enumerate() {
                let before = numbers(sums);
                let mut largest = at_least(before);
                for half in first..first + halves {
                    largest = larger(largest, row, &a_powers[half], &b_powers[half]);
                }
                let largest = _mm256_castps_si256(largest);
                let inverse = _mm256_sub_epi32(_mm256_set1_epi32(INVERSE as i32), largest);
                let scale = _mm256_castsi256_ps(_mm256_add_epi32(inverse, fraction));
                let unit = _mm256_castsi256_ps(_mm256_sub_epi32(largest, fraction));
                let before = _mm256_cvttps_epi32(_mm256_mul_ps(before, scale));
                let (mut low, mut high) = halves_of(before);
                for half in first..first + halves {
                    let more = aligned(row, &a_values[half], &b_values[half], scale);
                    let (more_low, more_high) = halves_of(more);
                    low = _mm256_add_pd(low, more_low);
                    high = _mm256_add_pd(high, more_high);
                }
                let low = cut_off(low, _mm256_castps256_ps128(unit));
                let high = cut_off(high, _mm256_extractf128_ps::<1>(unit));
                let sum = _mm256_castps_si256(_mm256_set_m128(high, low));
                // SAFETY: both are eight words.
                *sums = unsafe { std::mem::transmute::<__m256i, [u32; COLUMNS]>(sum) };
            }
        }
    }

    #[target_feature(enable = "avx2")]
    fn vector(row: &[f32; COLUMNS]) -> __m256 {
        // SAFETY: both are eight numbers.
        unsafe { std::mem::transmute::<[f32; COLUMNS], __m256>(*row) }
    }

    #[target_feature(enable = "avx2")]
    fn numbers(bits: &[u32; COLUMNS]) -> __m256 {
        // SAFETY: as above.
        unsafe { std::mem::transmute::<[u32; COLUMNS], __m256>(*bits) }
    }

    /// The power of two in each number, or one less than that of any.
    #[target_feature(enable = "avx2")]
    fn at_least(numbers: __m256) -> __m256 {
        let exponent = _mm256_castsi256_ps(_mm256_set1_epi32(EXPONENT as i32));
        let least = _mm256_castsi256_ps(_mm256_set1_epi32(LEAST as i32));
        _mm256_max_ps(_mm256_and_ps(numbers, exponent), least)
    }

    /// The largest of those and of eight products.
    #[target_feature(enable = "avx2")]
    fn larger(
        mut largest: __m256,
        row: usize,
        a: &EightRows<ROWS>,
        b: &EightRows<COLUMNS>,
    ) -> __m256 {
        for k in 0..HALF {
            let power = _mm256_mul_ps(_mm256_set1_ps(a[k][row]), vector(&b[k]));
            largest = _mm256_max_ps(largest, power);
        }
        largest
    }

    /// The sums of eight products, each cut off to an integer.
    #[target_feature(enable = "avx2")]
    fn aligned(row: usize, a: &EightRows<ROWS>, b: &EightRows<COLUMNS>, scale: __m256) -> __m256i {
        let mut sums = _mm256_setzero_si256();
        for k in 0..HALF {
            let product = _mm256_mul_ps(_mm256_set1_ps(a[k][row]), vector(&b[k]));
            let aligned = _mm256_cvttps_epi32(_mm256_mul_ps(product, scale));
            sums = _mm256_add_epi32(sums, aligned);
        }
        sums
    }

    /// As numbers of 64 bits.
    #[target_feature(enable = "avx2")]
    fn halves_of(integers: __m256i) -> (__m256d, __m256d) {
        let low = _mm256_cvtepi32_pd(_mm256_castsi256_si128(integers));
        let high = _mm256_cvtepi32_pd(_mm256_extracti128_si256::<1>(integers));
        (low, high)
    }

    /// Sums of integers, in units, cut off to 32 bits.
    #[target_feature(enable = "avx2")]
    fn cut_off(sums: __m256d, unit: __m128) -> __m128 {
        let sums = _mm256_mul_pd(sums, _mm256_cvtps_pd(unit));
        let kept = _mm256_castsi256_pd(_mm256_set1_epi64x(KEPT as i64));
        _mm256_cvtpd_ps(_mm256_and_pd(sums, kept))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sums of an H200, by `wgmma` and by `mma.sync`: format, a row of A, a column of B, the sum before, the sum.
    const RECORDED: &str = include_str!("../../../tests/tensor_cores/h200.txt");

    fn factors(text: &str) -> [u16; DEPTH] {
        std::array::from_fn(|k| u16::from_str_radix(&text[4 * k..4 * k + 4], 16).unwrap())
    }

    fn sum_of(
        format: &str,
        rule: AccumulationRule,
        a: &[u16; DEPTH],
        b: &[u16; DEPTH],
        c: u32,
    ) -> u32 {
        match format {
            "bf16" => sum::<bf16>(rule, a, b, c),
            _ => sum::<f16>(rule, a, b, c),
        }
    }

    #[test]
    fn sums_are_those_of_an_h200() {
        for line in RECORDED.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let [format, a, b, c, d] = fields[..] else {
                panic!("{line}");
            };
            let [c, d] = [c, d].map(|bits| u32::from_str_radix(bits, 16).unwrap());
            let came = sum_of(
                format,
                AccumulationRule::HOPPER,
                &factors(a),
                &factors(b),
                c,
            );
            assert_eq!(came, d, "{line}: {came:08x}");
        }
    }

    /// Each part of the rule shows in the recorded sums.
    #[test]
    fn other_rules_give_other_sums() {
        let other = |group, fraction| AccumulationRule { group, fraction };
        for rule in [
            other(16, 24),
            other(16, 26),
            other(8, 25),
            AccumulationRule::AMPERE,
        ] {
            let differs = |line: &&str| {
                let fields: Vec<&str> = line.split(' ').collect();
                let c = u32::from_str_radix(fields[3], 16).unwrap();
                let came = sum_of(fields[0], rule, &factors(fields[1]), &factors(fields[2]), c);
                format!("{came:08x}") != fields[4]
            };
            assert!(RECORDED.lines().filter(differs).count() > 20, "{rule:?}");
        }
    }

    /// The exponent of a product that is zero is of no account, however large the other factor is.
    #[test]
    fn zero_times_a_large_number_is_zero() {
        let (zeros, large) = ([0; DEPTH], [0x7f00; DEPTH]);
        for bits in [1, 0x0080_0000, 1.0_f32.to_bits()] {
            assert_eq!(
                sum::<bf16>(AccumulationRule::HOPPER, &zeros, &large, bits),
                bits
            );
        }
    }

    /// Factors as they come, most of them of moderate exponents so that both ways of computing are taken.
    fn bits() -> impl Strategy<Value = u16> {
        prop_oneof![
            12 => (any::<bool>(), 112_u16..142, 0_u16..128)
                .prop_map(|(sign, field, low)| u16::from(sign) << 15 | field << 7 | low),
            2 => Just(0),
            1 => any::<u16>(),
        ]
    }

    fn check_strip<F: Factor>(rule: AccumulationRule, factors: &[u16], before: &[u32]) {
        let mut next = factors.iter().copied().cycle();
        let a: [[u16; ROWS]; DEPTH] =
            std::array::from_fn(|_| std::array::from_fn(|_| next.next().unwrap_or(0)));
        let b: [[u16; COLUMNS]; DEPTH] =
            std::array::from_fn(|_| std::array::from_fn(|_| next.next().unwrap_or(0)));
        let mut next = before.iter().copied().cycle();
        let before: Sums =
            std::array::from_fn(|_| std::array::from_fn(|_| next.next().unwrap_or(0)));
        let (mut left, mut right) = (Factors::new(), Factors::new());
        (left.bits, right.bits) = (a, b);
        left.decode::<F>();
        right.decode::<F>();
        let mut exact = before;
        multiply_exactly::<F>(rule, &left, &right, &mut exact);
        let mut sums = before;
        multiply::<F>(rule, &left, &right, &mut sums);
        assert_eq!(sums, exact);
        if left.plain && right.plain && are_plain(&before) {
            let mut portable = before;
            add_groups(rule, &left, &right, &mut portable);
            assert_eq!(portable, exact);
        }
    }

    fn before() -> impl Strategy<Value = u32> {
        prop_oneof![
            8 => (-1e6_f32..1e6).prop_map(f32::to_bits),
            2 => Just(0),
        ]
    }

    proptest! {
        /// With vectors or with integers, a strip's sums are those of its elements.
        #[test]
        fn strips_are_computed_as_their_elements(
            factors in prop::collection::vec(bits(), 601),
            moderate in any::<bool>(),
            before in prop::collection::vec(before(), 31),
        ) {
            // Elements with these exponents, and zeros, are computed with vectors.
            let is_plain = |bits: u16| bits == 0 || (0x2b80..0x5380).contains(&(bits & 0x7fff));
            let plain = |bits: &u16| if moderate && !is_plain(*bits) { 0x3f80 } else { *bits };
            let factors: Vec<u16> = factors.iter().map(plain).collect();
            for rule in [AccumulationRule::HOPPER, AccumulationRule::AMPERE] {
                check_strip::<bf16>(rule, &factors, &before);
                check_strip::<f16>(rule, &factors, &before);
            }
        }
    }
}
