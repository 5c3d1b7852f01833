//! Standard output, written so that a reader who stops reading (`| head`) silences the program, which goes on to its
//! verdict: the exit code is the same.

use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static SILENT: AtomicBool = AtomicBool::new(false);

/// Writes no more lines: this process answers another one on standard output.
pub fn silence() {
    SILENT.store(true, Ordering::Relaxed);
}

/// Writes a line.
pub fn line(text: impl std::fmt::Display) {
    if SILENT.load(Ordering::Relaxed) {
        return;
    }
    if let Err(error) = writeln!(io::stdout().lock(), "{text}") {
        if error.kind() == ErrorKind::BrokenPipe {
            return silence();
        }
        // Standard output is full or closed: there is nowhere left to complain but standard error.
        eprintln!("error: cannot write to standard output: {error}");
        std::process::exit(1);
    }
}
