//! Clocks.
//!
//! PTX ISA, *Special Registers*.

#[cfg(target_os = "cuda")]
use crate::intrinsics;

use crate::gpu_only;

/// The multiprocessor's cycle counter, 32 bits (PTX `%clock`). It differs between multiprocessors and wraps.
#[gpu_only]
pub fn clock() -> u32 {
    // SAFETY: reads a special register.
    unsafe { intrinsics::clock() }
}

/// The multiprocessor's cycle counter, 64 bits (PTX `%clock64`). It differs between multiprocessors.
#[gpu_only]
pub fn clock64() -> u64 {
    // SAFETY: reads a special register.
    unsafe { intrinsics::clock64() }
}

/// Nanoseconds on a clock that the whole GPU shares (PTX `%globaltimer`). Its resolution is that of the hardware,
/// from 32 ns to about 1 µs.
#[gpu_only]
pub fn global_timer() -> u64 {
    // SAFETY: reads a special register.
    unsafe { intrinsics::global_timer() }
}
