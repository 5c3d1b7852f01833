//! Reproducible operands: random bit patterns mixed with each format's special values.

/// A small reproducible generator (SplitMix64).
pub struct Random(u64);

impl Random {
    /// The sequence that belongs to `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

const SPECIAL_F32: [u32; 20] = [
    0x0000_0000,
    0x8000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc0_1234,
    0x7f80_0001,
    0x0000_0001,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x4f00_0000,
    0xcf00_0000,
    0x4f80_0000,
    0x3f00_0000,
    0x4b80_0001,
];

const SPECIAL_F64: [u64; 16] = [
    0x0000_0000_0000_0000,
    0x8000_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0x0000_0000_0000_0001,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0x41e0_0000_0000_0000,
    0xc1e0_0000_0000_0000,
    0x43e0_0000_0000_0000,
    0x3fe0_0000_0000_0000,
];

const SPECIAL_INTEGER: [u64; 12] = [
    0,
    1,
    u64::MAX,
    0x8000_0000,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 63,
    (1 << 63) - 1,
    31,
    32,
    63,
    64,
];

/// `count` 32-bit patterns for `f32` operands: a third special values, a third near 1, a third any bits.
pub fn f32_bits(seed: u64, count: usize) -> Vec<u32> {
    let mut random = Random::new(seed);
    let mut next = || {
        let bits = random.bits();
        let low = bits as u32;
        match (bits >> 32) % 3 {
            0 => SPECIAL_F32[(bits >> 40) as usize % SPECIAL_F32.len()],
            1 => (low & 0x807f_ffff) | ((120 + (bits >> 40) as u32 % 16) << 23),
            _ => low,
        }
    };
    (0..count).map(|_| next()).collect()
}

/// `count` 64-bit patterns for `f64` operands, mixed as in [`f32_bits`].
pub fn f64_bits(seed: u64, count: usize) -> Vec<u64> {
    let mut random = Random::new(seed);
    let mut next = || {
        let (choice, bits) = (random.bits(), random.bits());
        match choice % 3 {
            0 => SPECIAL_F64[(choice >> 8) as usize % SPECIAL_F64.len()],
            1 => (bits & 0x800f_ffff_ffff_ffff) | ((1016 + (choice >> 8) % 16) << 52),
            _ => bits,
        }
    };
    (0..count).map(|_| next()).collect()
}

/// `count` 64-bit patterns for integer operands: special values, small values, any bits.
pub fn integer_bits(seed: u64, count: usize) -> Vec<u64> {
    let mut random = Random::new(seed);
    let mut next = || {
        let (choice, bits) = (random.bits(), random.bits());
        match choice % 3 {
            0 => SPECIAL_INTEGER[(choice >> 8) as usize % SPECIAL_INTEGER.len()],
            1 => bits % 100,
            _ => bits,
        }
    };
    (0..count).map(|_| next()).collect()
}
