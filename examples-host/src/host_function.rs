//! Functions that a stream calls on the host.

use crate::error::{Result, check, on};
use crate::host_buffer::{HostBuffer, HostMemory};
use crate::stream::{Stream, enqueue};
use bytemuck::Pod;
use cust::sys;
use libcuda::host;
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
        let mut taken = false;
        let launched = enqueue(|| {
            // SAFETY: `call` takes the box back when it is called, which happens at most once.
            let result = unsafe { sys::cuLaunchHostFunc(self.raw()?, Some(call), data.cast()) };
            check("cuLaunchHostFunc", result, on(self))?;
            taken = true;
            Ok(())
        });
        // Recording may fail behind a launch that did not: then the driver has the box.
        if !taken {
            // SAFETY: a function that was refused is never called: the box is still ours.
            drop(unsafe { Box::from_raw(data) });
        }
        launched
    }

    /// As [`Stream::call_host`], of a function that works on `memory`: it gets the elements when the copies and functions that
    /// use them, in whichever stream, have finished, and who uses them next waits for its return.
    pub fn call_host_on<T: Pod + Send>(
        &self,
        memory: &mut HostBuffer<T>,
        function: impl FnOnce(&mut [T]) + Send + 'static,
    ) -> Result<()> {
        let (len, bytes) = (memory.len(), memory.bytes());
        let is_locked = memory.memory() != HostMemory::Pageable;
        memory.lend(self, true, |start| {
            let lent = Lent(start);
            self.call_host(move || {
                let Lent(start) = lent.whole();
                if is_locked {
                    host::reads(start.cast_const().cast(), bytes);
                    host::writes(start.cast_const().cast(), bytes);
                }
                // SAFETY: the elements are lent to this function until it returns.
                function(unsafe { std::slice::from_raw_parts_mut(start, len) });
            })
        })
    }
}

/// The start of memory that is lent to a function on another thread.
struct Lent<T>(*mut T);

// SAFETY: whoever lends it lets nobody else use it meanwhile.
unsafe impl<T: Send> Send for Lent<T> {}

impl<T> Lent<T> {
    /// Itself: a closure that calls this takes it along as a whole.
    fn whole(self) -> Self {
        self
    }
}

unsafe extern "C" fn call(data: *mut c_void) {
    // SAFETY: the driver passes on what `call_host` gave it, once.
    let function = unsafe { Box::from_raw(data.cast::<Function>()) };
    // The panic's message has been printed; it must not cross the driver's frames.
    let _ = catch_unwind(AssertUnwindSafe(*function));
}
