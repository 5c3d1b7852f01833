//! The rehearsal: on a GPU the whole program runs once, unrecorded, before the run that is graded.
//!
//! The first launch, the first copy and the first allocation of a process take the driver up to some milliseconds, more than most
//! labs take. In the run behind the rehearsal they are like any others. On a model they always are: there is no rehearsal.
//!
//! The program's C `main`, which rustc writes, runs on a thread of its own: the recorded run is to find the main thread as it would
//! be without a rehearsal, without a current context and with nothing counted. The standard library lets one thread of a process
//! end it; a second one that tries waits for ever. So the rehearsal must not return from `main`: [`end`] unwinds it, which frees
//! what it holds, and keeps the thread when that is done. A rehearsal that returns, ends the process, or leaves the device
//! unusable has failed: then the program starts again in its place, without a rehearsal, and shows why. A signal ends the
//! program, as it does in a run.

use chapter_results::device::TimeSource;
use std::env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

/// Overrides what the device's times say: `on` or `off`.
const REHEARSAL: &str = "LAB_REHEARSAL";

static UNDER_WAY: AtomicBool = AtomicBool::new(false);

/// Whether the program runs for practice: nothing that it hands in counts.
pub(crate) fn is_under_way() -> bool {
    UNDER_WAY.load(Ordering::Acquire)
}

/// Whether a program rehearses on a device with such times.
pub(crate) fn is_wanted(times: TimeSource) -> bool {
    decided(env::var(REHEARSAL).ok().as_deref(), times)
}

fn decided(asked: Option<&str>, times: TimeSource) -> bool {
    let possible = cfg!(all(target_os = "linux", not(test)));
    possible
        && match asked {
            Some("on") => true,
            Some("off") => false,
            _ => times == TimeSource::Measured,
        }
}

/// Ends the rehearsal, since the program has come to its end: nothing behind the call runs but what frees its variables.
pub(crate) fn end() -> ! {
    std::panic::resume_unwind(Box::new(Rehearsed))
}

/// What the rehearsal unwinds with. The standard library drops it when all frames of the program are gone.
struct Rehearsed;

impl Drop for Rehearsed {
    fn drop(&mut self) {
        ended(true);
        loop {
            std::thread::park();
        }
    }
}

static ENDED: Mutex<Option<Sender<bool>>> = Mutex::new(None);

/// Records the end of the rehearsal, and whether the program ended normally.
fn ended(well: bool) {
    if let Some(to) = ENDED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // The receiver waits for it.
        let _ = to.send(well);
    }
}

#[cfg(all(target_os = "linux", not(test)))]
pub(crate) use linux::{run, start_again};
#[cfg(not(all(target_os = "linux", not(test))))]
pub(crate) use nowhere::{run, start_again};

/// Elsewhere no program rehearses.
#[cfg(not(all(target_os = "linux", not(test))))]
mod nowhere {
    pub(crate) fn run() -> std::io::Result<bool> {
        super::ended(true);
        Ok(true)
    }

    pub(crate) fn start_again() -> std::io::Error {
        std::io::ErrorKind::Unsupported.into()
    }
}

#[cfg(all(target_os = "linux", not(test)))]
mod linux {
    use super::{ENDED, REHEARSAL, UNDER_WAY, ended};
    use std::ffi::{CString, c_char, c_int};
    use std::fs::OpenOptions;
    use std::io::{Error, Result};
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::sync::atomic::Ordering;
    use std::sync::{Mutex, PoisonError, mpsc};
    use std::{env, ptr, thread};

    unsafe extern "C" {
        /// The program's, which rustc writes: it sets the standard library up and calls the Rust `main`.
        fn main(argc: c_int, argv: *const *const c_char) -> c_int;
    }

    /// As much as a main thread usually has.
    const STACK_BYTES: usize = 8 << 20;

    /// Where the program's output really goes, while it rehearses.
    static OUTPUT: Mutex<Option<[OwnedFd; 2]>> = Mutex::new(None);

    /// Runs the program without showing its output, and returns whether it came to its end.
    ///
    /// # Errors
    /// The system gives no thread, or no other output.
    pub(crate) fn run() -> Result<bool> {
        let (to, from) = mpsc::channel();
        *ENDED.lock().unwrap_or_else(PoisonError::into_inner) = Some(to);
        silence()?;
        UNDER_WAY.store(true, Ordering::Release);
        let thread = thread::Builder::new().name("main".to_owned()).stack_size(STACK_BYTES);
        let rehearsed = thread.spawn(call_main).map(|_| from.recv() == Ok(true));
        UNDER_WAY.store(false, Ordering::Release);
        speak();
        rehearsed
    }

    fn call_main() {
        let arguments = env::args_os().map(|argument| CString::new(argument.as_bytes()));
        // The standard library keeps the pointers: they stay valid.
        let kept: &'static mut [CString] =
            arguments.map_while(|it| it.ok()).collect::<Vec<_>>().leak();
        let argc = c_int::try_from(kept.len()).unwrap_or(0);
        let pointers = kept.iter().map(|argument| argument.as_ptr());
        let argv: &'static mut [*const c_char] =
            pointers.chain([ptr::null()]).collect::<Vec<_>>().leak();
        // SAFETY: these are `argc` terminated strings and a null pointer. What `main` sets up may be set up twice.
        unsafe { main(argc, argv.as_ptr()) };
        ended(false);
    }

    /// Starts the program again in this process, without a rehearsal. It returns only if that fails.
    pub(crate) fn start_again() -> Error {
        speak();
        match env::current_exe() {
            Ok(program) => {
                Command::new(program).args(env::args_os().skip(1)).env(REHEARSAL, "off").exec()
            }
            Err(error) => error,
        }
    }

    fn silence() -> Result<()> {
        let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
        let kept = [kept(libc::STDOUT_FILENO)?, kept(libc::STDERR_FILENO)?];
        *OUTPUT.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        replace(libc::STDOUT_FILENO, nowhere.as_raw_fd());
        replace(libc::STDERR_FILENO, nowhere.as_raw_fd());
        Ok(())
    }

    fn speak() {
        if let Some([out, err]) = OUTPUT.lock().unwrap_or_else(PoisonError::into_inner).take() {
            replace(libc::STDOUT_FILENO, out.as_raw_fd());
            replace(libc::STDERR_FILENO, err.as_raw_fd());
        }
    }

    fn kept(number: c_int) -> Result<OwnedFd> {
        // SAFETY: the call takes numbers.
        let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
        if copy < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: the system has just made it, for this owner.
        Ok(unsafe { OwnedFd::from_raw_fd(copy) })
    }

    /// Both are open: the call cannot fail.
    fn replace(number: c_int, by: c_int) {
        // SAFETY: the call takes numbers.
        unsafe { libc::dup2(by, number) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_rehearses_in_a_unit_test() {
        // The test's own `main` would run the tests again.
        assert!(!decided(Some("on"), TimeSource::Measured));
    }
}
