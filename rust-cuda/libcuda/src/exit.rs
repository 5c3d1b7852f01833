//! The exit code of a program that knows nothing of the software GPU's checkers.

use core::ffi::{c_int, c_void};
use software_gpu::reports::{self, Mode};
use std::sync::Once;

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> c_int;
    fn fflush(stream: *mut c_void) -> c_int;
    fn _exit(code: c_int) -> !;
}

/// Lets the process end with exit code 1 if there are reports by then and the mode is [`Mode::Fail`].
pub(crate) fn fail_on_reports() {
    static REGISTERED: Once = Once::new();
    // SAFETY: the function is called once, on the thread that ends the process, and takes nothing.
    REGISTERED.call_once(|| unsafe {
        atexit(at_exit);
    });
}

extern "C" fn at_exit() {
    software_gpu::finish();
    let found = reports::all().len();
    if found == 0 || reports::mode() != Mode::Fail {
        return;
    }
    software_gpu::say!(
        "software GPU: {found} report{}, and {} is fail: exit code 1",
        if found == 1 { "" } else { "s" },
        reports::VARIABLE
    );
    // SAFETY: null flushes all streams of the C library, which would do so after this handler; nothing runs after
    // `_exit`.
    unsafe {
        fflush(core::ptr::null_mut());
        _exit(1)
    }
}
