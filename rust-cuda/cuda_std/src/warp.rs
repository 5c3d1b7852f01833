//! Warps.
use crate::gpu_only;
#[cfg(target_os = "cuda")]
use core::arch::asm;

/// Lane.
#[gpu_only]
pub fn lane_id() -> u32 {
    let value;
    // SAFETY: reads a special register.
    unsafe {
        asm!("mov.u32 {}, %laneid;", out(reg32) value, options(pure, nomem, nostack, preserves_flags))
    };
    value
}

/// Shuffle.
/// # Safety
/// all lanes of mask
#[gpu_only]
pub unsafe fn shuffle_down_f32(mask: u32, value: f32, delta: u32) -> f32 {
    let result;
    unsafe {
        asm!("shfl.sync.down.b32 {}, {}, {}, 31, {};", out(reg32) result, in(reg32) value, in(reg32) delta, in(reg32) mask, options(nomem, nostack, preserves_flags))
    };
    result
}
