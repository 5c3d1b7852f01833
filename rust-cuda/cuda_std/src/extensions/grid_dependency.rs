//! Programmatic dependent launch: a grid that begins before the one before it in its stream has ended.
//!
//! The launch allows it (attribute `PROGRAMMATIC_STREAM_SERIALIZATION` of `cuLaunchKernelEx`); the kernels say when. Without
//! the attribute, both functions do nothing. The module needs sm_90; in a module for older GPUs it does not exist.
//!
//! PTX ISA, *Parallel Synchronization and Communication Instructions: griddepcontrol*.

#[cfg(target_os = "cuda")]
use core::arch::asm;

use crate::gpu_only;

/// The grids that depend on this one may begin, when all its blocks have said so or have ended (PTX
/// `griddepcontrol.launch_dependents`). It does not make any memory visible to them.
#[gpu_only]
pub fn launch_dependents() {
    // SAFETY: a signal has no preconditions.
    unsafe {
        asm!(
            "griddepcontrol.launch_dependents;",
            options(nostack, preserves_flags)
        )
    }
}

/// Waits until the grids that this one depends on have ended; what they wrote is visible after (PTX `griddepcontrol.wait`).
#[gpu_only]
pub fn wait() {
    // SAFETY: a wait has no preconditions.
    unsafe { asm!("griddepcontrol.wait;", options(nostack, preserves_flags)) }
}
