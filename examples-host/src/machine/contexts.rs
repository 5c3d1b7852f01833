//! Contexts: of streams, and of the other devices that a program uses.

use crate::device::Device;
use crate::error::{Result, check};
use cust::sys::{self, CUcontext, CUresult, CUstream};
use std::ptr;

/// The context of a stream (`cuStreamGetCtx`); of a default stream, the current one.
pub(crate) fn of_stream(stream: CUstream) -> Option<CUcontext> {
    let mut context = ptr::null_mut();
    // SAFETY: the stream lives, and `context` outlives the call.
    let result = unsafe { sys::cuStreamGetCtx(stream, &mut context) };
    (result == CUresult::CUDA_SUCCESS).then_some(context)
}

/// Runs `body` with this context current (`cuCtxPushCurrent`, `cuCtxPopCurrent`).
pub(crate) fn within<R>(context: CUcontext, body: impl FnOnce() -> R) -> R {
    // SAFETY: the context lives; where it cannot be pushed, the calls of `body` fail.
    let pushed = unsafe { sys::cuCtxPushCurrent_v2(context) } == CUresult::CUDA_SUCCESS;
    let result = body();
    let mut popped = ptr::null_mut();
    if pushed {
        // SAFETY: `popped` outlives the call.
        unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
    }
    result
}

impl Device {
    /// The devices that the program uses, each an ordinal and its primary context; this one is the first. A device is used
    /// while its primary context is active (`cuDevicePrimaryCtxGetState`).
    pub(crate) fn in_use(&self) -> Vec<(u32, CUcontext)> {
        let mut found = vec![(0, self.raw_context())];
        let others = 1..self.count();
        found.extend(others.filter_map(|ordinal| Some((ordinal, active_context(ordinal)?))));
        found
    }

    /// Blocks the host until no device that the program uses has anything left to do (`cuCtxSynchronize`).
    pub(crate) fn synchronize_all(&self) -> Result<()> {
        for (ordinal, context) in self.in_use() {
            // SAFETY: the call takes nothing.
            let result = within(context, || unsafe { sys::cuCtxSynchronize() });
            check("cuCtxSynchronize", result, || format!("device {ordinal}"))?;
        }
        Ok(())
    }
}

/// The primary context of a device, if it is active.
fn active_context(ordinal: u32) -> Option<CUcontext> {
    let (mut device, mut flags, mut active) = (0, 0, 0);
    let mut context = ptr::null_mut();
    // SAFETY: everything outlives the calls. The context stays active: each user retains it.
    unsafe {
        succeeded(sys::cuDeviceGet(&mut device, ordinal.cast_signed()))?;
        succeeded(sys::cuDevicePrimaryCtxGetState(
            device,
            &mut flags,
            &mut active,
        ))?;
        if active == 0 {
            return None;
        }
        succeeded(sys::cuDevicePrimaryCtxRetain(&mut context, device))?;
        succeeded(sys::cuDevicePrimaryCtxRelease_v2(device))?;
    }
    Some(context)
}

fn succeeded(result: CUresult) -> Option<()> {
    (result == CUresult::CUDA_SUCCESS).then_some(())
}
