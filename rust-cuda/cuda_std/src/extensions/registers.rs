//! Registers that warps give to others.
//!
//! A launch gives every thread the same number of registers. Where warps are specialised those that only copy need few, and those that
//! compute can use what they leave: the former ask for [fewer](decrease_to), then the latter for [more](increase_to).
//!
//! The module needs sm_90a, or another architecture with the suffix `a` or `f`, and kernels with `launch_bounds`.
//!
//! PTX ISA, *Miscellaneous Instructions: setmaxnreg*.

#[cfg(target_os = "cuda")]
use core::arch::asm;

use crate::gpu_only;

/// Gives registers back: each thread of the warp keeps `COUNT`, a multiple of 8 from 24 to 256 (PTX
/// `setmaxnreg.dec.sync.aligned.u32`).
///
/// # Safety
/// All warps of the warpgroup call it, each with all its lanes, and wait for each other before they change the number again. They have no
/// fewer registers now.
#[gpu_only]
pub unsafe fn decrease_to<const COUNT: u32>() {
    // SAFETY: the caller's.
    unsafe {
        asm!("setmaxnreg.dec.sync.aligned.u32 {};", const COUNT, options(nostack, preserves_flags));
    }
}

/// Waits until the block has so many registers free that each thread of the warp can have `COUNT`, a multiple of 8 from 24 to 256, and takes
/// them (PTX `setmaxnreg.inc.sync.aligned.u32`).
///
/// # Safety
/// As for [`decrease_to`], but that they have no more registers now. Somebody gives back what is missing.
#[gpu_only]
pub unsafe fn increase_to<const COUNT: u32>() {
    // SAFETY: the caller's.
    unsafe {
        asm!("setmaxnreg.inc.sync.aligned.u32 {};", const COUNT, options(nostack, preserves_flags));
    }
}
