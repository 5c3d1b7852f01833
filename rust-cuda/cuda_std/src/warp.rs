//! What the 32 threads of a warp, its lanes, do together without memory.
//!
//! The functions take a `mask`, one bit per lane: the lanes that take part. They share their safety contract: every
//! lane named in `mask` that has not exited calls the same function with the same `mask`, and only lanes in `mask`
//! call it.
//!
//! PTX ISA, *Parallel Synchronization and Communication Instructions*.

#[cfg(target_os = "cuda")]
use crate::llvm;

use crate::gpu_only;

/// Lanes of a warp.
const LANES: u32 = 32;

/// The thread's lane, 0 to 31 (PTX `%laneid`).
#[gpu_only]
pub fn lane_id() -> u32 {
    // SAFETY: reads a special register.
    unsafe { llvm::lane_id() }
}

/// The lanes that execute this together now (PTX `activemask`; before PTX 6.2, as in the baseline module,
/// `vote.ballot`). Which ones is the hardware's choice: a mask for the
/// other functions must come from the program's logic instead.
#[gpu_only]
pub fn activemask() -> u32 {
    #[cfg(target_feature = "ptx62")]
    // SAFETY: no preconditions.
    unsafe {
        llvm::active_mask()
    }
    #[cfg(not(target_feature = "ptx62"))]
    // SAFETY: no preconditions.
    unsafe {
        llvm::ballot(true)
    }
}

/// Waits for the lanes of `mask`; what they stored before is visible to them after (PTX `bar.warp.sync`).
///
/// # Safety
/// The module's contract.
#[gpu_only]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: the caller keeps the contract.
    unsafe { llvm::sync_warp(mask) }
}

/// Whether `predicate` holds in all lanes of `mask` (PTX `vote.sync.all`).
///
/// # Safety
/// The module's contract.
#[gpu_only]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller keeps the contract.
    unsafe { llvm::vote_all(mask, predicate) }
}

/// Whether `predicate` holds in any lane of `mask` (PTX `vote.sync.any`).
///
/// # Safety
/// The module's contract.
#[gpu_only]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller keeps the contract.
    unsafe { llvm::vote_any(mask, predicate) }
}

/// The lanes of `mask` in which `predicate` holds (PTX `vote.sync.ballot`).
///
/// # Safety
/// The module's contract.
#[gpu_only]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: the caller keeps the contract.
    unsafe { llvm::vote_ballot(mask, predicate) }
}

/// The lanes of `mask` whose `value` is this lane's, bit for bit (PTX `match.any.sync`).
///
/// # Safety
/// The module's contract.
#[inline(always)]
pub unsafe fn warp_match_any<T: WarpMatchValue>(mask: u32, value: T) -> u32 {
    // SAFETY: the caller keeps the contract.
    unsafe { value.match_any(mask) }
}

/// `Some(mask)` if all lanes of `mask` have the same `value`: what PTX `match.all.sync` gives, by one `match.any.sync`.
///
/// # Safety
/// The module's contract.
#[inline(always)]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: the caller keeps the contract.
    let all = unsafe { value.match_any(mask) } == mask;
    all.then_some(mask)
}

/// A value that lanes can compare: 32 or 64 bits.
pub trait WarpMatchValue: Copy {
    #[doc(hidden)]
    unsafe fn match_any(self, mask: u32) -> u32;
}

macro_rules! match_value {
    ($($type:ty, $bits:ty, $intrinsic:ident, $to_bits:expr;)*) => {$(
        impl WarpMatchValue for $type {
            #[gpu_only]
            unsafe fn match_any(self, mask: u32) -> u32 {
                let bits: $bits = $to_bits(self);
                // SAFETY: the caller keeps the contract.
                unsafe { llvm::$intrinsic(mask, bits) }
            }
        }
    )*};
}

match_value! {
    u32, u32, match_any_32, core::convert::identity;
    i32, u32, match_any_32, i32::cast_unsigned;
    f32, u32, match_any_32, f32::to_bits;
    u64, u64, match_any_64, core::convert::identity;
    i64, u64, match_any_64, i64::cast_unsigned;
    f64, u64, match_any_64, f64::to_bits;
}

/// The `value` of the lane `delta` below, and whether there is one in this lane's group of `width` lanes; else the
/// lane's own (PTX `shfl.sync.up.b32`).
///
/// # Safety
/// The module's contract, and `width` is a power of two up to 32.
#[inline(always)]
pub unsafe fn warp_shuffle_up<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    delta: u32,
    width: u32,
) -> (T, bool) {
    let lane = lane_id();
    let from_own_group = (lane & (width - 1)) >= delta;
    // SAFETY: the caller keeps the contract.
    let value =
        value.map_words(|word| unsafe { shuffle_word::up(mask, word, delta, group(width)) });
    (value, from_own_group)
}

/// The `value` of the lane `delta` above, and whether there is one in this lane's group of `width` lanes; else the
/// lane's own (PTX `shfl.sync.down.b32`).
///
/// # Safety
/// The module's contract, and `width` is a power of two up to 32.
#[inline(always)]
pub unsafe fn warp_shuffle_down<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    delta: u32,
    width: u32,
) -> (T, bool) {
    let from_own_group = (lane_id() & (width - 1)) + delta < width;
    // SAFETY: the caller keeps the contract.
    let value = value
        .map_words(|word| unsafe { shuffle_word::down(mask, word, delta, group(width) | LAST) });
    (value, from_own_group)
}

/// The `value` of lane `lane`, counted from the beginning of this lane's group of `width` lanes and modulo `width`.
/// There always is one (PTX `shfl.sync.idx.b32`).
///
/// # Safety
/// The module's contract, and `width` is a power of two up to 32.
#[inline(always)]
pub unsafe fn warp_shuffle_idx<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    lane: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: the caller keeps the contract.
    let value = value
        .map_words(|word| unsafe { shuffle_word::index(mask, word, lane, group(width) | LAST) });
    (value, true)
}

/// The `value` of the lane whose number is this lane's exclusive-or `bits`, and whether it is in this lane's group of
/// `width` lanes or an earlier one; else the lane's own (PTX `shfl.sync.bfly.b32`).
///
/// # Safety
/// The module's contract, and `width` is a power of two up to 32.
#[inline(always)]
pub unsafe fn warp_shuffle_xor<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    bits: u32,
    width: u32,
) -> (T, bool) {
    let lane = lane_id();
    let in_reach = lane ^ bits <= lane | (width - 1);
    // SAFETY: the caller keeps the contract.
    let value =
        value.map_words(|word| unsafe { shuffle_word::xor(mask, word, bits, group(width) | LAST) });
    (value, in_reach)
}

/// The last lane of a group, in a shuffle's operand `c`.
const LAST: u32 = LANES - 1;

/// The lane bits that number the groups of `width` lanes, in a shuffle's operand `c`.
#[inline(always)]
const fn group(width: u32) -> u32 {
    (LANES - width) << 8
}

/// The shuffles of one 32-bit word.
mod shuffle_word {
    use super::gpu_only;
    #[cfg(target_os = "cuda")]
    use super::llvm;

    macro_rules! shuffle {
        ($($function:ident, $intrinsic:ident;)*) => {$(
            #[gpu_only]
            pub(super) unsafe fn $function(mask: u32, word: u32, lane: u32, control: u32) -> u32 {
                // SAFETY: the caller keeps the module's contract.
                unsafe { llvm::$intrinsic(mask, word, lane, control) }
            }
        )*};
    }

    shuffle! {
        up, shuffle_up;
        down, shuffle_down;
        index, shuffle_index;
        xor, shuffle_xor;
    }
}

/// A value that lanes can pass to each other: up to 128 bits, one shuffle per 32.
pub trait WarpShuffleValue: Copy {
    #[doc(hidden)]
    fn map_words(self, shuffle: impl Fn(u32) -> u32) -> Self;
}

macro_rules! shuffle_value {
    ($($type:ty, $words:literal, $to_bits:expr, $from_bits:expr;)*) => {$(
        impl WarpShuffleValue for $type {
            #[inline(always)]
            #[allow(clippy::redundant_closure_call)]
            fn map_words(self, shuffle: impl Fn(u32) -> u32) -> Self {
                let bits: u128 = $to_bits(self);
                let mut result = 0;
                for word in 0..$words {
                    result |= u128::from(shuffle((bits >> (32 * word)) as u32)) << (32 * word);
                }
                $from_bits(result)
            }
        }
    )*};
}

macro_rules! integer {
    ($($type:ty, $words:literal;)*) => {
        shuffle_value! { $($type, $words, |value| value as u128, |bits| bits as $type;)* }
    };
}

integer! {
    u8, 1;
    i8, 1;
    u16, 1;
    i16, 1;
    u32, 1;
    i32, 1;
    u64, 2;
    i64, 2;
    u128, 4;
    i128, 4;
}

shuffle_value! {
    f32, 1, |value: f32| u128::from(value.to_bits()), |bits| f32::from_bits(bits as u32);
    f64, 2, |value: f64| u128::from(value.to_bits()), |bits| f64::from_bits(bits as u64);
}

#[cfg(feature = "half")]
shuffle_value! {
    half::f16, 1, |value: half::f16| u128::from(value.to_bits()), |bits| half::f16::from_bits(bits as u16);
    half::bf16, 1, |value: half::bf16| u128::from(value.to_bits()), |bits| half::bf16::from_bits(bits as u16);
}

/// How [`warp_reduce`] combines two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// The sum, wrapping.
    Add,
    /// The smaller.
    Min,
    /// The greater.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// Combines the `value`s of all lanes of `mask` and gives every one of them the result. All lanes: five shuffles;
/// another mask: one shuffle per lane in it. (`redux.sync` needs sm_80.)
///
/// # Safety
/// The module's contract, and the same `op` in every lane.
#[inline(always)]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: the caller keeps the contract.
    unsafe {
        if mask == u32::MAX {
            [16, 8, 4, 2, 1].into_iter().fold(value, |value, bits| {
                value.combine(warp_shuffle_xor(mask, value, bits, LANES).0, op)
            })
        } else {
            let from = |lane| warp_shuffle_idx(mask, value, lane, LANES).0;
            let first = mask.trailing_zeros();
            let mut result = from(first);
            let mut rest = mask & (mask - 1);
            while rest != 0 {
                result = result.combine(from(rest.trailing_zeros()), op);
                rest &= rest - 1;
            }
            result
        }
    }
}

/// A value that [`warp_reduce`] combines.
pub trait WarpReduceValue: WarpShuffleValue {
    #[doc(hidden)]
    fn combine(self, other: Self, op: WarpReductionOp) -> Self;
}

macro_rules! reduce_value {
    ($($type:ty)*) => {$(
        impl WarpReduceValue for $type {
            #[inline(always)]
            fn combine(self, other: Self, op: WarpReductionOp) -> Self {
                match op {
                    WarpReductionOp::Add => self.wrapping_add(other),
                    WarpReductionOp::Min => self.min(other),
                    WarpReductionOp::Max => self.max(other),
                    WarpReductionOp::And => self & other,
                    WarpReductionOp::Or => self | other,
                    WarpReductionOp::Xor => self ^ other,
                }
            }
        }
    )*};
}

reduce_value! { u32 i32 u64 i64 }

#[cfg(test)]
mod tests {
    use super::*;

    /// Splitting into words and joining them again changes nothing; each word passes the shuffle once, lowest first.
    #[test]
    fn values_survive_their_words() {
        fn check<T: WarpShuffleValue + PartialEq + core::fmt::Debug>(value: T, expected: &[u32]) {
            let words = core::cell::RefCell::new(Vec::new());
            let same = value.map_words(|word| {
                words.borrow_mut().push(word);
                word
            });
            assert_eq!(same, value);
            assert_eq!(*words.borrow(), expected);
        }
        check(0xabu8, &[0xab]);
        check(-2i16, &[0xffff_fffe]);
        check(1.5f32, &[0x3fc0_0000]);
        check(-1i64, &[u32::MAX, u32::MAX]);
        check(1.5f64, &[0, 0x3ff8_0000]);
        check(0x4_0000_0003_0000_0002_0000_0001u128, &[1, 2, 3, 4]);
    }

    #[test]
    fn control_operand_of_the_shuffles() {
        assert_eq!(group(32) | LAST, 0x1f);
        assert_eq!(group(16) | LAST, 0x101f);
        assert_eq!(group(1), 0x1f00);
    }
}
