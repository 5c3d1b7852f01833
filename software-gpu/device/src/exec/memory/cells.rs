//! Elements in memory and cells of registers.

use super::super::context::Context;
use super::super::op::Slot;

/// Reads an element of `bytes` bytes, extended to 64 bits.
///
/// # Safety
///
/// `pointer` is valid for reads of that many bytes.
#[inline(always)]
pub(super) unsafe fn read(pointer: *const u8, bytes: u32, signed: bool) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match (bytes, signed) {
            (1, false) => pointer.read().into(),
            (1, true) => pointer.cast::<i8>().read() as u64,
            (2, false) => pointer.cast::<u16>().read_unaligned().into(),
            (2, true) => pointer.cast::<i16>().read_unaligned() as u64,
            (4, false) => pointer.cast::<u32>().read_unaligned().into(),
            (4, true) => pointer.cast::<i32>().read_unaligned() as u64,
            _ => pointer.cast::<u64>().read_unaligned(),
        }
    }
}

/// Writes the low `bytes` bytes of `value`.
///
/// # Safety
///
/// `pointer` is valid for writes of that many bytes.
#[inline(always)]
pub(super) unsafe fn write(pointer: *mut u8, bytes: u32, value: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            1 => pointer.write(value as u8),
            2 => pointer.cast::<u16>().write_unaligned(value as u16),
            4 => pointer.cast::<u32>().write_unaligned(value as u32),
            _ => pointer.cast::<u64>().write_unaligned(value),
        }
    }
}

/// # Safety
///
/// `slot` is a row of the current frame, with 64-bit cells if `wide`.
#[inline(always)]
pub(super) unsafe fn set_cell(cx: &Context<'_>, slot: Slot, wide: bool, lane: usize, value: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match wide {
            true => (*cx.row::<u64>(slot))[lane] = value,
            false => (*cx.row::<u32>(slot))[lane] = value as u32,
        }
    }
}

/// # Safety
///
/// `slot` is a row of the current frame, with 64-bit cells if `wide`.
#[inline(always)]
pub(super) unsafe fn cell(cx: &Context<'_>, slot: Slot, wide: bool, lane: usize) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match wide {
            true => (*cx.row::<u64>(slot))[lane],
            false => (*cx.row::<u32>(slot))[lane].into(),
        }
    }
}
