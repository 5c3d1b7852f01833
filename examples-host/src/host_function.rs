//! Functions that a stream calls on the host.

use crate::error::{Result, check, on};
use crate::stream::Stream;
use cust::sys;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

type Function = Box<dyn FnOnce() + Send>;

impl Stream {
    /// Calls `function` on a thread of the driver when everything enqueued so far has finished; what is enqueued later
    /// waits for its return (`cuLaunchHostFunc`).
    ///
    /// The function must not call CUDA: such calls return `CUDA_ERROR_NOT_PERMITTED`. After a failure of the device it
    /// is not called, and what it owns is not freed. A panic ends there; what it was to produce stays away.
    pub fn call_host(&self, function: impl FnOnce() + Send + 'static) -> Result<()> {
        let function: Box<Function> = Box::new(Box::new(function));
        let data = Box::into_raw(function);
        // SAFETY: `call` takes the box back when it is called, which happens at most once.
        let result = unsafe { sys::cuLaunchHostFunc(self.raw()?, Some(call), data.cast()) };
        let launched = check("cuLaunchHostFunc", result, on(self));
        if launched.is_err() {
            // SAFETY: a function that was refused is never called: the box is still ours.
            drop(unsafe { Box::from_raw(data) });
        }
        launched
    }
}

unsafe extern "C" fn call(data: *mut c_void) {
    // SAFETY: the driver passes on what `call_host` gave it, once.
    let function = unsafe { Box::from_raw(data.cast::<Function>()) };
    // The panic's message has been printed; it must not cross the driver's frames.
    let _ = catch_unwind(AssertUnwindSafe(*function));
}
