//! Integer operations of the PTX ISA that are more than one of Rust's.

use super::super::lane::Lane;

/// Types of 16, 32 and 64 bits.
pub(in crate::exec) trait Arithmetic: Lane {
    /// `div`. Division by zero gives all ones on the device, and an overflow wraps.
    fn quotient(self, divisor: Self) -> Self;
    /// `rem`. By zero, what the device's subroutine leaves.
    fn remainder(self, divisor: Self) -> Self;
    /// The lower half of the product.
    fn low(self, factor: Self) -> Self;
    /// The upper half of the product.
    fn high(self, factor: Self) -> Self;
    /// The sum of two numbers and a carry, and the carry out of it as if unsigned.
    fn add_carry(self, addend: Self, carry: bool) -> (Self, bool);
    /// The difference, less a borrow, and whether it borrows.
    fn sub_borrow(self, subtrahend: Self, borrow: bool) -> (Self, bool);
}

macro_rules! arithmetic {
    ($($int:ident $unsigned:ident $wide:ident;)*) => {$(
        impl Arithmetic for $int {
            #[inline(always)]
            fn quotient(self, divisor: Self) -> Self {
                if divisor == 0 { !0 } else { self.wrapping_div(divisor) }
            }

            #[inline(always)]
            fn remainder(self, divisor: Self) -> Self {
                if divisor == 0 { !0 } else { self.wrapping_rem(divisor) }
            }

            #[inline(always)]
            fn low(self, factor: Self) -> Self {
                self.wrapping_mul(factor)
            }

            #[inline(always)]
            fn high(self, factor: Self) -> Self {
                ((self as $wide).wrapping_mul(factor as $wide) >> $int::BITS) as $int
            }

            #[inline(always)]
            fn add_carry(self, addend: Self, carry: bool) -> (Self, bool) {
                let (sum, first) = (self as $unsigned).overflowing_add(addend as $unsigned);
                let (sum, second) = sum.overflowing_add(carry.into());
                (sum as $int, first || second)
            }

            #[inline(always)]
            fn sub_borrow(self, subtrahend: Self, borrow: bool) -> (Self, bool) {
                let (difference, first) = (self as $unsigned).overflowing_sub(subtrahend as $unsigned);
                let (difference, second) = difference.overflowing_sub(borrow.into());
                (difference as $int, first || second)
            }
        }
    )*};
}

arithmetic! {
    u16 u16 u32;
    i16 u16 i32;
    u32 u32 u64;
    i32 u32 i64;
    u64 u64 u128;
    i64 u64 i128;
}

/// The product of the low 24 bits.
#[inline(always)]
pub(in crate::exec) fn product24_unsigned(a: u32, b: u32) -> u64 {
    u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
}

/// The product of the low 24 bits as signed numbers.
#[inline(always)]
pub(in crate::exec) fn product24(a: i32, b: i32) -> i64 {
    i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)
}

/// A part of a register as a number: how `dp4a` and `dp2a` see their operands.
pub(in crate::exec) trait RegisterPart: 'static {
    fn at(bits: u32, shift: u32) -> u32;
}

macro_rules! parts {
    ($($part:ident as $extended:ident;)*) => {$(
        impl RegisterPart for $part {
            #[inline(always)]
            fn at(bits: u32, shift: u32) -> u32 {
                (bits >> shift) as $part as $extended as u32
            }
        }
    )*};
}

parts! {
    u8 as u32;
    i8 as i32;
    u16 as u32;
    i16 as i32;
}

/// `dp4a`: four products of bytes, and `c`.
#[inline(always)]
pub(in crate::exec) fn dot4<A: RegisterPart, B: RegisterPart>(a: u32, b: u32, c: u32) -> u32 {
    let mut sum = c;
    for shift in [0, 8, 16, 24] {
        sum = sum.wrapping_add(A::at(a, shift).wrapping_mul(B::at(b, shift)));
    }
    sum
}

/// `dp2a`: two products of the halves of `a` with bytes of `b` from bit `FROM`, and `c`.
#[inline(always)]
pub(in crate::exec) fn dot2<A: RegisterPart, B: RegisterPart, const FROM: u32>(
    a: u32,
    b: u32,
    c: u32,
) -> u32 {
    let low = A::at(a, 0).wrapping_mul(B::at(b, FROM));
    let high = A::at(a, 16).wrapping_mul(B::at(b, FROM + 8));
    c.wrapping_add(low).wrapping_add(high)
}
