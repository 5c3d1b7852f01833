//! Clocks, and what profilers and debuggers listen to.
//!
//! PTX ISA, *Special Registers*, *Miscellaneous Instructions: brkpt, pmevent*.

#[cfg(target_os = "cuda")]
use crate::llvm;

use crate::gpu_only;

/// The multiprocessor's cycle counter (PTX `%clock64`). It differs between multiprocessors.
#[gpu_only]
pub fn clock() -> u64 {
    // SAFETY: reads a special register.
    unsafe { llvm::clock64() }
}

/// Stops in a debugger (PTX `brkpt`).
#[gpu_only]
pub fn breakpoint() {
    // SAFETY: no preconditions.
    unsafe { core::arch::asm!("brkpt;", options(nostack, preserves_flags)) }
}

/// Increments the profiler's counter of that number, once per warp (PTX `pmevent`). PTX takes the number as a constant, hence
/// one instruction for each.
///
/// # Panics
/// `counter` is greater than 7.
#[gpu_only]
pub fn profiler_counter(counter: u32) {
    macro_rules! event {
        ($($number:literal)*) => {
            match counter {
                $(
                    // SAFETY: no preconditions.
                    $number => unsafe {
                        core::arch::asm!(concat!("pmevent ", $number, ";"), options(nostack, preserves_flags))
                    },
                )*
                _ => panic!("a profiler counter has a number from 0 to 7"),
            }
        };
    }
    event!(0 1 2 3 4 5 6 7)
}
