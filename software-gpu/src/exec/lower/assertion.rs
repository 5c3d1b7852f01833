//! `__assertfail`, the function that CUDA's `assert` calls.

use super::super::context::Context;
use super::super::fault::Fault;
use super::super::op::Op;
use super::super::warp_handlers::Shape;

/// Longer texts are cut.
const MAX_TEXT: u64 = 256;

/// Reports the first active lane's failed assertion: message `d`, file `a`, line `b` and function `c` are the places of
/// the arguments in the frame's local memory, `x` is the line in the PTX text.
pub(super) struct Assertion;

impl Shape for Assertion {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let Some(lane) = cx.lanes().next() else {
            return;
        };
        let [message, file, function] =
            [op.d, op.a, op.c].map(|place| text(cx, local(cx, lane, place, 8)));
        let line = local(cx, lane, op.b, 4);
        let message = format!("`{message}` in {function}, {file}:{line}");
        cx.fail(lane as u32, op.x, |place| Fault::Assert { place, message });
    }
}

/// A little-endian number in the frame's local memory of a lane.
fn local(cx: &Context<'_>, lane: usize, place: u32, bytes: usize) -> u64 {
    let mut number = [0; 8];
    let stack = cx.local.wrapping_add(lane * cx.local_stride as usize);
    let from = stack.wrapping_add((cx.local_base + place) as usize);
    // SAFETY: lowering checked that the variable passed has that many bytes in the frame.
    unsafe { from.copy_to_nonoverlapping(number.as_mut_ptr(), bytes) };
    u64::from_le_bytes(number)
}

/// The zero-terminated text at a global address.
fn text(cx: &Context<'_>, address: u64) -> String {
    let byte = |offset| {
        let place = cx.hold.space().storage(address.wrapping_add(offset), 1)?;
        // SAFETY: `storage` says that one byte can be read there.
        Some(unsafe { place.read_volatile() }).filter(|byte| *byte != 0)
    };
    let bytes: Vec<u8> = (0..MAX_TEXT).map_while(byte).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
