//! Atomics.
use crate::gpu_only;
#[cfg(target_os = "cuda")]
use core::arch::asm;

/// Adds.
/// # Safety
/// pointer valid
#[gpu_only]
pub unsafe fn red_add_f32(pointer: *mut f32, value: f32) {
    unsafe {
        asm!("red.relaxed.gpu.add.f32 [{}], {};", in(reg64) pointer, in(reg32) value, options(nostack, preserves_flags))
    };
}
