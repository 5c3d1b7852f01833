//! How far a run has come: a line that is overwritten on a terminal, nothing otherwise. Lines of results go to standard
//! output, above it.

use chapter_terminal::wrap;
use std::cell::RefCell;
use std::io::{self, IsTerminal as _, Write as _};

/// Columns that every terminal has, less the last, where some break the line.
const COLUMNS: usize = 79;

/// How far a run has come.
pub struct Progress {
    parts: usize,
    /// The line's text; `None` where standard error is not a terminal.
    line: Option<RefCell<String>>,
}

impl Progress {
    /// Nothing of `parts` is done.
    pub fn new(parts: usize) -> Self {
        Self {
            parts,
            line: io::stderr().is_terminal().then(RefCell::default),
        }
    }

    /// A part begins; `done` before it are done.
    pub fn begin(&self, done: usize, name: &str) {
        if let Some(line) = &self.line {
            line.replace(shown(done, self.parts, name));
            draw(&line.borrow());
        }
    }

    /// Prints lines that fit the terminal; where one is broken, it continues after `hang` blanks.
    pub fn line(&self, text: &str, hang: usize) {
        let Some(line) = &self.line else {
            return wrap::print(text, hang);
        };
        draw("");
        wrap::print(text, hang);
        draw(&line.borrow());
    }

    /// The line goes.
    pub fn end(self) {
        if self.line.is_some() {
            draw("");
        }
    }
}

/// `3/21 basic_streams:three-way`, cut where a narrow terminal ends.
fn shown(done: usize, parts: usize, name: &str) -> String {
    let text = format!("{done}/{parts} {name}");
    text.chars().take(COLUMNS).collect()
}

/// Overwrites the line. That it cannot be drawn changes nothing about the run.
fn draw(text: &str) {
    let mut out = io::stderr().lock();
    let _ = write!(out, "\r\x1b[K{text}").and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_fits_a_terminal() {
        assert_eq!(shown(3, 21, "first:second"), "3/21 first:second");
        assert_eq!(shown(3, 21, &"x".repeat(100)).chars().count(), COLUMNS);
    }
}
