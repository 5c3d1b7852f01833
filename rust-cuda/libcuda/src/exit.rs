//! The exit code of a program that does not ask the software GPU's checkers.

use crate::timeline;
use core::ffi::{c_int, c_void};
use software_gpu::reports::{self, ReportMode};
use std::sync::atomic::{AtomicBool, Ordering};

unsafe extern "C" {
    #[cfg(not(target_os = "linux"))]
    fn atexit(function: extern "C" fn()) -> c_int;
    #[cfg(target_os = "linux")]
    fn at_quick_exit(function: extern "C" fn()) -> c_int;
    fn fflush(stream: *mut c_void) -> c_int;
    fn _exit(code: c_int) -> !;
}

/// Whether reports decide the exit code.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Lets the process end with exit code 1 if there are reports by then and the mode is [`ReportMode::Fail`].
pub(crate) fn fail_on_reports() {
    WATCHED.store(true, Ordering::Relaxed);
    register();
}

/// Looks at the end of the program.
pub(crate) fn register() {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: the functions are called once, on the thread that ends the process, and take nothing.
        unsafe {
            #[cfg(not(target_os = "linux"))]
            atexit(at_end);
            #[cfg(target_os = "linux")]
            at_quick_exit(at_quick_end);
        }
    }
}

/// Runs after all exit handlers and destructors of the program, whenever it has registered them: they may still use the driver,
/// and free what work that is under way uses. With the lowest priority it also runs after other functions of this section.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".fini_array.00000")]
static AT_END: extern "C" fn() = at_end;

extern "C" fn at_end() {
    let failed = has_failed();
    timeline::write();
    if failed {
        // SAFETY: null flushes all streams of the C library, which would do so after this function; nothing runs after
        // `_exit`.
        unsafe {
            fflush(core::ptr::null_mut());
            _exit(1)
        }
    }
}

/// `quick_exit` calls other handlers than `exit`, no destructors, and flushes nothing.
#[cfg(target_os = "linux")]
extern "C" fn at_quick_end() {
    let failed = has_failed();
    timeline::write();
    if failed {
        // SAFETY: nothing runs after it.
        unsafe { _exit(1) }
    }
}

/// Checks what a program that knows nothing of reports has left behind. Whether there are any and the mode is [`ReportMode::Fail`].
fn has_failed() -> bool {
    if !WATCHED.load(Ordering::Relaxed) {
        return false;
    }
    software_gpu::finish();
    let found = reports::all().len();
    if found == 0 || reports::mode() != ReportMode::Fail {
        return false;
    }
    software_gpu::say!(
        "software GPU: {found} report{}, and {} is fail: exit code 1",
        if found == 1 { "" } else { "s" },
        reports::VARIABLE
    );
    true
}
