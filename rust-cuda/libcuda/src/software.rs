//! The software GPU: the crate `software-gpu`, linked in.

#[cfg(not(target_family = "wasm"))]
use crate::slots;

pub use software_gpu::driver::{
    ChoiceError, Misconfigured, configure, profile, use_count, use_profile,
};

/// Makes every exported function jump into the software GPU. In WebAssembly they do from the start.
pub(crate) fn fill_slots() {
    #[cfg(not(target_family = "wasm"))]
    // SAFETY: entry points are functions with the signatures of cuda.h under their names.
    unsafe {
        slots::fill(|name| {
            let entry = software_gpu::driver::entry_point(name)?;
            core::ptr::NonNull::new(entry.cast_mut())
        })
    }
}
