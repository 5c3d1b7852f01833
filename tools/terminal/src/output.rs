//! Standard output, written so that a reader who stops reading (`| head`) silences the program, which continues to its
//! verdict: the exit code is the same.
//!
//! Text may be styled ([`crate::style`]): on a terminal that shows colours it is coloured, in a pipe, or with `NO_COLOR`
//! in the environment, the styles are left out.

use std::io::{ErrorKind, IsTerminal, Write};
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
    if let Err(error) = writeln!(anstream::stdout(), "{text}") {
        if error.kind() == ErrorKind::BrokenPipe {
            return silence();
        }
        // Standard output is full or closed: there is nowhere left to complain but standard error.
        eprintln!("error: cannot write to standard output: {error}");
        std::process::exit(1);
    }
}

/// Columns where standard output is not a terminal.
const COLUMNS: usize = 80;
/// Charts and texts get no wider than this: the eye loses the line.
const MOST_COLUMNS: usize = 160;
/// Narrower lines would break every word.
const LEAST_COLUMNS: usize = 40;

/// Columns of the terminal, or of the environment variable `COLUMNS`; 80 where standard output is not a terminal.
pub fn columns() -> usize {
    let asked = std::env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse().ok());
    let terminal = || {
        std::io::stdout()
            .is_terminal()
            .then(terminal_size::terminal_size)?
    };
    match (asked, terminal()) {
        (Some(asked), _) => usize::max(asked, LEAST_COLUMNS),
        (None, Some((width, _))) => usize::from(width.0).clamp(LEAST_COLUMNS, MOST_COLUMNS),
        (None, None) => COLUMNS,
    }
}
