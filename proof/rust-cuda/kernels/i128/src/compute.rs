//! What the kernel computes, on either side.

/// What is computed of one pair.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Results {
    pub sum: i128,
    pub product: i128,
    pub quotient: i128,
    pub remainder: i128,
    pub shifted: i128,
    pub bits: u32,
}

pub fn compute(a: i128, b: i128) -> Results {
    let (quotient, remainder) = if b == 0 {
        (0, 0)
    } else {
        (a.wrapping_div(b), a.wrapping_rem(b))
    };
    Results {
        sum: a.wrapping_add(b),
        product: a.wrapping_mul(b),
        quotient,
        remainder,
        shifted: a >> (b as u32 & 127),
        bits: (a ^ b).count_ones(),
    }
}
