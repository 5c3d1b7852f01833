//! Bit fields, shifts and permutations of the PTX ISA, for one lane.

/// `bfe` on `width` bits: the field at `position` of `length` bits; beyond the last bit it is filled with the sign, which
/// is that of the field's last bit inside, or of an unsigned number: 0.
#[inline(always)]
pub(in crate::exec) fn extract(
    a: u64,
    position: u32,
    length: u32,
    width: u32,
    signed: bool,
) -> u64 {
    let (position, length) = field(position, length, width);
    if length == 0 {
        return 0;
    }
    let last = (position + length - 1).min(width - 1);
    let sign = signed && a >> last & 1 != 0;
    let inside = (width - position.min(width)).min(length);
    let field = if position < width {
        a >> position & ones(inside)
    } else {
        0
    };
    if sign { field | !ones(inside) } else { field }
}

/// `bfi` on `width` bits: `b` with `length` bits at `position` replaced by the low ones of `a`.
#[inline(always)]
pub(in crate::exec) fn insert(a: u64, b: u64, position: u32, length: u32, width: u32) -> u64 {
    let (position, length) = field(position, length, width);
    if position >= width {
        return b;
    }
    let mask = ones(length) << position;
    a << position & mask | b & !mask
}

/// Position and length as an instruction on `width` bits sees them: modulo 256 in the unit for 32 bits, as they are in
/// the subroutine for 64. From 255 on they all mean the same.
#[inline(always)]
fn field(position: u32, length: u32, width: u32) -> (u32, u32) {
    if width == 32 {
        (position & 0xff, length & 0xff)
    } else {
        (position.min(0xff), length.min(0xff))
    }
}

/// The `count` lowest bits.
#[inline(always)]
fn ones(count: u32) -> u64 {
    if count >= 64 { !0 } else { (1 << count) - 1 }
}

/// `bmsk`: `length` ones from `position`.
#[inline(always)]
pub(in crate::exec) fn mask<const CLAMP: bool>(position: u32, length: u32) -> u32 {
    let (position, length) = match CLAMP {
        true => (position, length),
        false => (position & 31, length & 31),
    };
    if position >= 32 {
        0
    } else {
        (ones(length) << position) as u32
    }
}

/// `szext`: the low `length` bits of `a`, extended.
#[inline(always)]
pub(in crate::exec) fn extend<const CLAMP: bool, const SIGNED: bool>(a: u32, length: u32) -> u32 {
    match (if CLAMP { length } else { length & 31 }, SIGNED) {
        (0, _) => 0,
        (32.., _) => a,
        (length, false) => a << (32 - length) >> (32 - length),
        (length, true) => ((a << (32 - length)) as i32 >> (32 - length)) as u32,
    }
}

/// `shf`: bits of `b:a` shifted by `c`; `.l` gives the upper, `.r` the lower half.
#[inline(always)]
pub(in crate::exec) fn funnel<const LEFT: bool, const CLAMP: bool>(a: u32, b: u32, c: u32) -> u32 {
    let both = u64::from(b) << 32 | u64::from(a);
    let by = if CLAMP { c.min(32) } else { c & 31 };
    if LEFT {
        (both << by >> 32) as u32
    } else {
        (both >> by) as u32
    }
}

/// `lop3`: bit `4a + 2b + c` of `table`.
#[inline(always)]
pub(in crate::exec) fn lookup(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let chosen = |index: u32| 0u32.wrapping_sub(table >> index & 1);
    let pair = |index: u32| chosen(index + 1) & c | chosen(index) & !c;
    a & (b & pair(6) | !b & pair(4)) | !a & (b & pair(2) | !b & pair(0))
}

/// `fns`: the position of the `offset`-th set bit of `mask`, counted from `base`; all ones if there is no such bit.
pub(in crate::exec) fn nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    let set = |position: i64| mask >> position & 1 != 0;
    let base = i64::from(base & 31);
    let (step, count) = (if offset < 0 { -1 } else { 1 }, offset.unsigned_abs());
    if count == 0 {
        return if set(base) { base as u32 } else { !0 };
    }
    let positions = (0..32).map(|distance| base + step * distance);
    let mut found = positions.filter(|position| (0..32).contains(position) && set(*position));
    found
        .nth(count as usize - 1)
        .map_or(!0, |position| position as u32)
}

/// How `prmt` reads its selector.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::exec) enum Permutation {
    Index,
    Forward4,
    Backward4,
    Replicate8,
    EdgeLeft,
    EdgeRight,
    Replicate16,
}

/// `prmt`: four bytes chosen from the eight of `b:a`.
#[inline(always)]
pub(in crate::exec) fn permute(a: u32, b: u32, c: u32, mode: Permutation) -> u32 {
    let both = u64::from(b) << 32 | u64::from(a);
    let from = c & 3;
    let mut result = 0;
    for byte in 0..4 {
        let index = match mode {
            Permutation::Index => c >> (4 * byte) & 7,
            Permutation::Forward4 => from + byte,
            Permutation::Backward4 => from.wrapping_sub(byte) & 7,
            Permutation::Replicate8 => from,
            Permutation::EdgeLeft => from.max(byte),
            Permutation::EdgeRight => from.min(byte),
            Permutation::Replicate16 => (from & 1) * 2 + (byte & 1),
        };
        let value = (both >> (8 * index)) as u8;
        let replicate_sign = mode == Permutation::Index && c >> (4 * byte + 3) & 1 != 0;
        let value = if replicate_sign {
            (value as i8 >> 7) as u8
        } else {
            value
        };
        result |= u32::from(value) << (8 * byte);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The PTX ISA says modulo 256; the device does it in 32 bits alone.
    fn operands(position: u32, length: u32, width: u32) -> (u32, u32) {
        if width == 32 {
            (position % 256, length % 256)
        } else {
            (position, length)
        }
    }

    /// The pseudo-code of the PTX ISA.
    fn extract_by_bits(a: u64, position: u32, length: u32, width: u32, signed: bool) -> u64 {
        let (position, length) = operands(position, length, width);
        let msb = width - 1;
        let bit = |at: u32| a >> at & 1;
        let sign = match signed && length != 0 {
            true => bit((position + length - 1).min(msb)),
            false => 0,
        };
        (0..width).fold(0, |field, at| {
            let inside = at < length && position + at <= msb;
            field | (if inside { bit(position + at) } else { sign }) << at
        })
    }

    fn insert_by_bits(a: u64, b: u64, position: u32, length: u32, width: u32) -> u64 {
        let (position, length) = operands(position, length, width);
        let replaced = (0..length).filter(|at| position + at < width);
        replaced.fold(b, |f, at| {
            let to = position + at;
            f & !(1 << to) | (a >> at & 1) << to
        })
    }

    proptest! {
        #[test]
        fn fields_are_those_of_the_isa(a: u64, b: u64, position in 0u32..300, length in 0u32..300, signed: bool) {
            prop_assert_eq!(
                extract(a, position, length, 64, signed),
                extract_by_bits(a, position, length, 64, signed)
            );
            prop_assert_eq!(insert(a, b, position, length, 64), insert_by_bits(a, b, position, length, 64));
            let (a, b) = (u64::from(a as u32), u64::from(b as u32));
            prop_assert_eq!(
                extract(a, position, length, 32, signed) as u32,
                extract_by_bits(a, position, length, 32, signed) as u32
            );
            prop_assert_eq!(
                insert(a, b, position, length, 32) as u32,
                insert_by_bits(a, b, position, length, 32) as u32
            );
        }

        #[test]
        fn a_table_is_looked_up_bit_by_bit(a: u32, b: u32, c: u32, table: u8) {
            let table = u32::from(table);
            let d = lookup(a, b, c, table);
            for at in 0..32 {
                let index = (a >> at & 1) << 2 | (b >> at & 1) << 1 | c >> at & 1;
                prop_assert_eq!(d >> at & 1, table >> index & 1);
            }
        }
    }

    #[test]
    fn set_bits_are_counted_in_both_directions() {
        assert_eq!(nth_set(0b1011_0000, 0, 2), 5);
        assert_eq!(nth_set(0b1011_0000, 6, -1), 5);
        assert_eq!(nth_set(0b1011_0000, 4, 0), 4);
        assert_eq!(nth_set(0b1011_0000, 0, 4), !0);
    }

    #[test]
    fn masks_and_extensions_clamp_or_wrap() {
        assert_eq!(mask::<true>(28, 40), 0xf000_0000);
        assert_eq!(mask::<false>(33, 34), 0b110);
        assert_eq!(extend::<true, true>(0x80, 8), 0xffff_ff80);
        assert_eq!(extend::<false, false>(0x1ff, 40), 0xff);
    }
}
