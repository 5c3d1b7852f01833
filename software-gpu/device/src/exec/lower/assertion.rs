//! `__assertfail`, the function that CUDA's `assert` calls.

use super::super::context::Context;
use super::super::fault::Fault;
use super::super::memory::generic;
use super::super::op::Op;
use super::super::warp_handlers::Shape;
use crate::ptx::ir::Space;

/// Longer texts are cut.
const MAX_TEXT: u64 = 256;

/// What Rust's panics give as their function.
const PANIC: &str = "a panic";

/// Reports the first active lane's failed assertion: message `d`, file `a`, line `b` and function `c` are the places of
/// the arguments in the frame's local memory, `x` is the line in the PTX text.
pub(super) struct Assertion;

impl Shape for Assertion {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let Some(lane) = cx.lanes().next() else {
            return;
        };
        let [message, file, function] =
            [op.d, op.a, op.c].map(|place| text(cx, lane, local(cx, lane, place, 8), MAX_TEXT));
        let line = local(cx, lane, op.b, 4);
        if function == PANIC {
            let message = format!("{file}:{line}: {message}");
            return cx.fail(lane as u32, op.x, |place| Fault::Panic { place, message });
        }
        let message = format!("`{message}` in {function}, {file}:{line}");
        cx.fail(lane as u32, op.x, |place| Fault::Assert { place, message });
    }
}

/// A little-endian number in the frame's local memory of a lane.
pub(super) fn local(cx: &Context<'_>, lane: usize, place: u32, bytes: usize) -> u64 {
    let mut number = [0; 8];
    let stack = cx.local.wrapping_add(lane * cx.local_stride as usize);
    let from = stack.wrapping_add((cx.local_base + place) as usize);
    // SAFETY: lowering checked that the variable passed has that many bytes in the frame.
    unsafe { from.copy_to_nonoverlapping(number.as_mut_ptr(), bytes) };
    u64::from_le_bytes(number)
}

/// The zero-terminated text at a generic address in global memory or in the lane's own, cut after `most` bytes.
pub(super) fn text(cx: &Context<'_>, lane: usize, address: u64, most: u64) -> String {
    let byte = |offset| {
        let [byte] = generic_bytes(cx, lane, address.wrapping_add(offset))?;
        Some(byte).filter(|byte| *byte != 0)
    };
    let bytes: Vec<u8> = (0..most).map_while(byte).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Bytes at a generic address in global memory or in the lane's own.
pub(super) fn generic_bytes<const N: usize>(
    cx: &Context<'_>,
    lane: usize,
    address: u64,
) -> Option<[u8; N]> {
    let place = match generic(address) {
        (Space::Local, at) => {
            let is_inside = at.checked_add(N as u64)? <= u64::from(cx.local_stride);
            let stack = cx.local.wrapping_add(lane * cx.local_stride as usize);
            is_inside.then(|| stack.wrapping_add(at as usize))?
        }
        _ => cx.hold.space().storage(address, N)?,
    };
    // SAFETY: `storage`, or the bound of the lane's stack, says that this many bytes can be read there.
    Some(unsafe { place.cast::<[u8; N]>().read_volatile() })
}
