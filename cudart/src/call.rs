//! What every function of the runtime does around its own work: it gives the thread a device and records the error.

use std::cell::Cell;
use std::io::Write;

use crate::context;
use crate::error::{Error, Result, SUCCESS};

thread_local! {
    /// What `cudaGetLastError` returns.
    static LAST: Cell<u32> = const { Cell::new(SUCCESS) };
}

/// Runs a function that needs a device.
pub(crate) fn call(function: impl FnOnce() -> Result) -> u32 {
    call_without_device(|| context::bind().and_then(|()| function()))
}

/// Runs a function that needs no device, or that chooses one.
pub(crate) fn call_without_device(function: impl FnOnce() -> Result) -> u32 {
    match function() {
        Ok(()) => SUCCESS,
        Err(error) => {
            LAST.set(error.0);
            error.0
        }
    }
}

/// Forgets this thread's last error, a sticky one included: the device was reset.
pub(crate) fn forget_error() {
    LAST.set(SUCCESS);
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetLastError() -> u32 {
    let last = LAST.get();
    if !Error(last).is_sticky() {
        LAST.set(SUCCESS);
    }
    last
}

#[unsafe(no_mangle)]
extern "C" fn cudaPeekAtLastError() -> u32 {
    LAST.get()
}

/// Prints a line on standard error. A closed one is no reason to stop the program.
pub(crate) fn say(sentence: &str) {
    let _ = writeln!(std::io::stderr(), "libcudart: {sentence}");
}

/// Writes a result where the caller wants it.
///
/// # Errors
/// `cudaErrorInvalidValue` for a null pointer.
///
/// # Safety
/// `to` is null or has room for the value.
pub(crate) unsafe fn set<T>(to: *mut T, value: T) -> Result {
    if to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: the caller has room for the value, aligned or not.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Exports functions of the runtime that need a device. Each body returns a [`Result`].
macro_rules! exports {
    ($($(#[$meta:meta])* fn $name:ident($($parameter:ident: $type:ty),* $(,)?) $body:block)*) => { $(
        $(#[$meta])*
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($parameter: $type),*) -> u32 {
            // SAFETY: the caller keeps the function's contract, which the runtime API's reference states.
            #[allow(unused_unsafe, reason = "some functions only pass numbers on")]
            $crate::call::call(|| unsafe { $body })
        }
    )* };
}

/// Exports functions with a parameter that is a stream, each under two names: null means the legacy default stream under
/// the first, and the thread's own under the second, which programs call that were compiled with
/// `--default-stream per-thread`.
macro_rules! stream_exports {
    ($(
        $(#[$meta:meta])*
        fn $name:ident | $per_thread:ident($($parameter:ident: $type:ty),* $(,)?) for $stream:ident $body:block
    )*) => { $(
        $crate::call::exports! {
            $(#[$meta])*
            fn $name($($parameter: $type),*) $body

            $(#[$meta])*
            fn $per_thread($($parameter: $type),*) {
                let $stream = $crate::stream::per_thread($stream);
                $body
            }
        }
    )* };
}

/// Exports functions that run in a default stream, each under two names: the legacy one under the first, and the thread's
/// own under the second. The body gets it as a parameter.
macro_rules! default_stream_exports {
    ($(
        $(#[$meta:meta])*
        fn $name:ident | $per_thread:ident($($parameter:ident: $type:ty),* $(,)?) in $stream:ident $body:block
    )*) => { $(
        $crate::call::exports! {
            $(#[$meta])*
            fn $name($($parameter: $type),*) {
                let $stream = $crate::stream::LEGACY;
                $body
            }

            $(#[$meta])*
            fn $per_thread($($parameter: $type),*) {
                let $stream = $crate::stream::PER_THREAD;
                $body
            }
        }
    )* };
}

pub(crate) use {default_stream_exports, exports, stream_exports};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_error_is_cleared_by_reading_unless_it_is_sticky() {
        assert_eq!(call_without_device(|| Err(Error::INVALID_VALUE)), 1);
        assert_eq!(cudaPeekAtLastError(), 1);
        assert_eq!(cudaGetLastError(), 1);
        assert_eq!(cudaGetLastError(), SUCCESS);
        call_without_device(|| Err(Error(700)));
        assert_eq!(cudaGetLastError(), 700);
        assert_eq!(cudaGetLastError(), 700);
        forget_error();
        assert_eq!(cudaGetLastError(), SUCCESS);
    }

    #[test]
    fn a_result_without_room_is_an_invalid_value() {
        let mut number = 0;
        // SAFETY: null, or a number.
        unsafe {
            assert_eq!(set(std::ptr::null_mut(), 5), Err(Error::INVALID_VALUE));
            assert_eq!(set(&raw mut number, 5), Ok(()));
        }
        assert_eq!(number, 5);
    }
}
