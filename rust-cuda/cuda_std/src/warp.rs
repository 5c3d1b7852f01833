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
    unsafe { T::match_any(mask, value) }
}

/// `Some(mask)` if all lanes of `mask` have the same `value`: what PTX `match.all.sync` gives, by one `match.any.sync`.
///
/// # Safety
/// The module's contract.
#[inline(always)]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: the caller keeps the contract.
    unsafe { T::match_all(mask, value) }
}

/// A value that lanes can compare: 32 or 64 bits.
pub trait WarpMatchValue: Sized {
    /// [`warp_match_any`].
    ///
    /// # Safety
    /// The module's contract.
    unsafe fn match_any(mask: u32, value: Self) -> u32;

    /// [`warp_match_all`].
    ///
    /// # Safety
    /// The module's contract.
    #[inline(always)]
    unsafe fn match_all(mask: u32, value: Self) -> Option<u32> {
        // SAFETY: the caller keeps the contract.
        let all = unsafe { Self::match_any(mask, value) } == mask;
        all.then_some(mask)
    }
}

macro_rules! match_value {
    ($($type:ty, $bits:ty, $intrinsic:ident, $to_bits:expr;)*) => {$(
        impl WarpMatchValue for $type {
            #[gpu_only]
            unsafe fn match_any(mask: u32, value: Self) -> u32 {
                let bits: $bits = $to_bits(value);
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
    // SAFETY: the caller keeps the contract.
    unsafe { T::shuffle(WarpShuffleMode::Up, mask, value, delta, width) }
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
    // SAFETY: the caller keeps the contract.
    unsafe { T::shuffle(WarpShuffleMode::Down, mask, value, delta, width) }
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
    unsafe { T::shuffle(WarpShuffleMode::Idx, mask, value, lane, width) }
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
    // SAFETY: the caller keeps the contract.
    unsafe { T::shuffle(WarpShuffleMode::Xor, mask, value, bits, width) }
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

/// Which lane a shuffle reads, given a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum WarpShuffleMode {
    /// That of the number: [`warp_shuffle_idx`].
    Idx = 0,
    /// So many below: [`warp_shuffle_up`].
    Up = 1,
    /// So many above: [`warp_shuffle_down`].
    Down = 2,
    /// Its exclusive-or with the number: [`warp_shuffle_xor`].
    Xor = 3,
}

impl WarpShuffleMode {
    /// Whether the lane that is read is in the own group of `width` lanes, or for [`Xor`](Self::Xor) in an earlier one.
    #[inline(always)]
    fn is_in_group(self, b: u32, width: u32) -> bool {
        match self {
            Self::Idx => true,
            Self::Up => (lane_id() & (width - 1)) >= b,
            Self::Down => (lane_id() & (width - 1)) + b < width,
            Self::Xor => lane_id() ^ b <= lane_id() | (width - 1),
        }
    }

    /// Shuffles one word.
    ///
    /// # Safety
    /// The module's contract.
    #[inline(always)]
    unsafe fn word(self, mask: u32, word: u32, b: u32, width: u32) -> u32 {
        // SAFETY: the caller keeps the contract.
        unsafe {
            match self {
                Self::Idx => shuffle_word::index(mask, word, b, group(width) | LAST),
                Self::Up => shuffle_word::up(mask, word, b, group(width)),
                Self::Down => shuffle_word::down(mask, word, b, group(width) | LAST),
                Self::Xor => shuffle_word::xor(mask, word, b, group(width) | LAST),
            }
        }
    }
}

/// A value that lanes can pass to each other: up to 128 bits, one shuffle per 32.
pub trait WarpShuffleValue: Sized {
    /// The shuffle of that mode, with the number `b`.
    ///
    /// # Safety
    /// The module's contract, and `width` is a power of two up to 32.
    unsafe fn shuffle(
        mode: WarpShuffleMode,
        mask: u32,
        value: Self,
        b: u32,
        width: u32,
    ) -> (Self, bool);
}

/// `bits` with each of its words replaced, lowest first.
#[inline(always)]
fn map_words(bits: u128, words: u32, shuffle: impl Fn(u32) -> u32) -> u128 {
    let mut result = 0;
    for word in 0..words {
        result |= u128::from(shuffle((bits >> (32 * word)) as u32)) << (32 * word);
    }
    result
}

macro_rules! shuffle_value {
    ($($type:ty, $words:literal, $to_bits:expr, $from_bits:expr;)*) => {$(
        impl WarpShuffleValue for $type {
            #[inline(always)]
            #[allow(clippy::redundant_closure_call)]
            unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, value: Self, b: u32, width: u32) -> (Self, bool) {
                let in_group = mode.is_in_group(b, width);
                let bits: u128 = $to_bits(value);
                // SAFETY: the caller keeps the contract.
                let bits = map_words(bits, $words, |word| unsafe { mode.word(mask, word, b, width) });
                ($from_bits(bits), in_group)
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

/// Combines the `value`s of all lanes of `mask` and gives every one of them the result: 32 bits in a module of sm_80 or later by
/// one instruction (PTX `redux.sync`); otherwise all lanes by five shuffles, another mask by one shuffle per lane in it.
///
/// # Safety
/// The module's contract, and the same `op` in every lane.
#[inline(always)]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: the caller keeps the contract.
    unsafe { T::reduce(mask, value, op) }
}

/// A value that [`warp_reduce`] combines.
pub trait WarpReduceValue: Sized {
    /// [`warp_reduce`].
    ///
    /// # Safety
    /// As for [`warp_reduce`].
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self;
}

/// The reduction by shuffles.
///
/// # Safety
/// As for [`warp_reduce`].
#[inline(always)]
unsafe fn reduce_by_shuffles<T: WarpShuffleValue + Copy>(
    mask: u32,
    value: T,
    combine: impl Fn(T, T) -> T,
) -> T {
    // SAFETY: the caller keeps the contract.
    unsafe {
        if mask == u32::MAX {
            [16, 8, 4, 2, 1].into_iter().fold(value, |value, bits| {
                combine(value, warp_shuffle_xor(mask, value, bits, LANES).0)
            })
        } else {
            let from = |lane| warp_shuffle_idx(mask, value, lane, LANES).0;
            let first = mask.trailing_zeros();
            let mut result = from(first);
            let mut rest = mask & (mask - 1);
            while rest != 0 {
                result = combine(result, from(rest.trailing_zeros()));
                rest &= rest - 1;
            }
            result
        }
    }
}

macro_rules! reduce_value {
    ($($type:ty $(, $min:ident $max:ident)?;)*) => {$(
        impl WarpReduceValue for $type {
            #[inline(always)]
            unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
                $(
                    #[cfg(all(target_os = "cuda", target_feature = "ptx71"))]
                    // SAFETY: the caller keeps the contract; all lanes of the mask have the same operation.
                    return unsafe {
                        let value = value as u32;
                        let result = match op {
                            WarpReductionOp::Add => llvm::redux_add(value, mask),
                            WarpReductionOp::Min => llvm::$min(value, mask),
                            WarpReductionOp::Max => llvm::$max(value, mask),
                            WarpReductionOp::And => llvm::redux_and(value, mask),
                            WarpReductionOp::Or => llvm::redux_or(value, mask),
                            WarpReductionOp::Xor => llvm::redux_xor(value, mask),
                        };
                        result as $type
                    };
                )?
                let combine = |a: Self, b: Self| match op {
                    WarpReductionOp::Add => a.wrapping_add(b),
                    WarpReductionOp::Min => a.min(b),
                    WarpReductionOp::Max => a.max(b),
                    WarpReductionOp::And => a & b,
                    WarpReductionOp::Or => a | b,
                    WarpReductionOp::Xor => a ^ b,
                };
                // SAFETY: the caller keeps the contract.
                #[allow(unreachable_code)]
                unsafe {
                    reduce_by_shuffles(mask, value, combine)
                }
            }
        }
    )*};
}

reduce_value! {
    u32, redux_umin redux_umax;
    i32, redux_min redux_max;
    u64;
    i64;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splitting into words and joining them again changes nothing; each word passes the shuffle once, lowest first.
    #[test]
    fn values_survive_their_words() {
        fn check(bits: u128, words: u32, expected: &[u32]) {
            let seen = core::cell::RefCell::new(Vec::new());
            let same = map_words(bits, words, |word| {
                seen.borrow_mut().push(word);
                word
            });
            assert_eq!(same, bits);
            assert_eq!(*seen.borrow(), expected);
        }
        check(0xab, 1, &[0xab]);
        check(1.5f64.to_bits().into(), 2, &[0, 0x3ff8_0000]);
        check(0x4_0000_0003_0000_0002_0000_0001, 4, &[1, 2, 3, 4]);
    }

    #[test]
    fn control_operand_of_the_shuffles() {
        assert_eq!(group(32) | LAST, 0x1f);
        assert_eq!(group(16) | LAST, 0x101f);
        assert_eq!(group(1), 0x1f00);
    }
}
