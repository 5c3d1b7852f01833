//! Clocks.
//!
//! PTX ISA, *Special Registers*.

use crate::gpu_only;
#[cfg(target_os = "cuda")]
use crate::llvm;

/// The multiprocessor's cycle counter, 64 bits (PTX `%clock64`). It differs between multiprocessors.
#[gpu_only]
pub fn clock64() -> u64 {
    // SAFETY: reads a special register.
    unsafe { llvm::clock64() }
}

/// Nanoseconds on a clock that the whole GPU shares (PTX `%globaltimer`). Its resolution is that of the hardware,
/// from 32 ns to about 1 µs.
#[gpu_only]
pub fn global_timer() -> u64 {
    // SAFETY: reads a special register.
    unsafe { llvm::global_timer() }
}
