//! The software GPU: the crate `software-gpu`, linked in.

use crate::slots;
use core::ptr::NonNull;
use software_gpu::driver::entry_point;

pub use software_gpu::driver::{
    ChoiceError, Misconfigured, configure, profile, use_count, use_profile,
};

/// Makes every exported function jump into the software GPU.
pub(crate) fn fill_slots() {
    // SAFETY: entry points are functions with the signatures of cuda.h under their names.
    unsafe {
        slots::fill(|name| entry_point(name).and_then(|entry| NonNull::new(entry.cast_mut())))
    }
}
