//! Clocks.
use crate::gpu_only;
#[cfg(target_os = "cuda")]
use core::arch::asm;

/// Nanoseconds.
#[gpu_only]
pub fn global_timer() -> u64 {
    let value;
    // SAFETY: reads a special register.
    unsafe {
        asm!("mov.u64 {}, %globaltimer;", out(reg64) value, options(nomem, nostack, preserves_flags))
    };
    value
}
