//! Programs that end by a signal, such as a segmentation fault.
//!
//! In a signal handler hardly anything may be done. So a thread waits for the day, writes the file while the handler waits,
//! and then the signal takes its course. Signals that the program handles itself are left to it, except faults, whose handlers
//! run afterwards.

#[cfg(not(unix))]
pub(super) fn watch() {}

#[cfg(unix)]
pub(super) use unix::watch;

#[cfg(unix)]
mod unix {
    use libc::{c_int, c_void, sigaction, siginfo_t};
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
    use std::thread;

    /// How long the handler waits for the file, in milliseconds.
    const PATIENCE: c_int = 10_000;

    const SIGNALS: [(c_int, &str, bool); 8] = [
        (libc::SIGSEGV, "a segmentation fault", true),
        (libc::SIGBUS, "a bus error", true),
        (libc::SIGILL, "an illegal instruction", true),
        (libc::SIGFPE, "an arithmetic error", true),
        (libc::SIGABRT, "abort", true),
        (libc::SIGTERM, "SIGTERM", false),
        (libc::SIGINT, "SIGINT", false),
        (libc::SIGHUP, "SIGHUP", false),
    ];

    /// What is read when the program crashes, and what is read when the file is written.
    static PIPES: [AtomicI32; 4] = [const { AtomicI32::new(-1) }; 4];

    /// What the signals did before.
    static mut BEFORE: [MaybeUninit<sigaction>; SIGNALS.len()] =
        [const { MaybeUninit::uninit() }; SIGNALS.len()];

    pub(in crate::timeline) fn watch() {
        let mut ends = [-1; 4];
        // SAFETY: each call writes two numbers.
        let made = unsafe { libc::pipe(&mut ends[0]) == 0 && libc::pipe(&mut ends[2]) == 0 };
        if !made {
            return;
        }
        for (place, end) in PIPES.iter().zip(ends) {
            // SAFETY: the records of programs that this one starts are their own.
            unsafe { libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC) };
            place.store(end, Ordering::Relaxed);
        }
        let name = "CUDA timeline".to_owned();
        if thread::Builder::new().name(name).spawn(serve).is_ok() {
            (0..SIGNALS.len()).for_each(install);
        }
    }

    fn end(place: usize) -> c_int {
        PIPES[place].load(Ordering::Relaxed)
    }

    fn install(place: usize) {
        let (signal, _, is_fault) = SIGNALS[place];
        // SAFETY: zeros are a valid `sigaction`; the handler has the signature that `SA_SIGINFO` asks for, and `BEFORE` is
        // written here alone, once, before the handler that reads it can run.
        unsafe {
            let mut before: sigaction = std::mem::zeroed();
            if libc::sigaction(signal, ptr::null(), &mut before) != 0
                || !is_fault && before.sa_sigaction != libc::SIG_DFL
            {
                return;
            }
            BEFORE[place] = MaybeUninit::new(before);
            let mut own: sigaction = std::mem::zeroed();
            own.sa_sigaction = handle as *const () as usize;
            own.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(signal, &own, ptr::null_mut());
        }
    }

    /// Has the file written, and lets the signal come again: a fault by itself, the others are raised.
    extern "C" fn handle(signal: c_int, info: *mut siginfo_t, _context: *mut c_void) {
        static HANDLED: AtomicBool = AtomicBool::new(false);
        let Some(place) = SIGNALS.iter().position(|(known, ..)| *known == signal) else {
            return;
        };
        // SAFETY: all of these calls may be made in a signal handler. `info` is the system's; `BEFORE` was written when the
        // handler was installed.
        unsafe {
            if !HANDLED.swap(true, Ordering::Relaxed) {
                let number = place as u8;
                libc::write(end(1), (&raw const number).cast(), 1);
                let mut written = libc::pollfd {
                    fd: end(2),
                    events: libc::POLLIN,
                    revents: 0,
                };
                libc::poll(&mut written, 1, PATIENCE);
            }
            let before: *const MaybeUninit<sigaction> = &raw const BEFORE[place];
            libc::sigaction(signal, (*before).as_ptr(), ptr::null_mut());
            let comes_again = SIGNALS[place].2 && signal != libc::SIGABRT && (*info).si_code > 0;
            if !comes_again {
                libc::raise(signal);
            }
        }
    }

    /// Waits for a crash and writes the file.
    fn serve() {
        software_gpu::host::is_own_thread();
        let mut number = u8::MAX;
        // SAFETY: one byte is read into one, and one is written.
        unsafe {
            while libc::read(end(0), (&raw mut number).cast(), 1) != 1 {
                let error = std::io::Error::last_os_error();
                if error.kind() != std::io::ErrorKind::Interrupted {
                    return;
                }
            }
            let signal = SIGNALS.get(usize::from(number));
            super::super::write_after(signal.map(|(_, name, _)| *name));
            libc::write(end(3), (&raw const number).cast(), 1);
        }
    }
}
