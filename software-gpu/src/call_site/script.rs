//! The line of a program that another program interprets.
//!
//! The stack shows the interpreter, whose lines say nothing to the reader. So the interpreter notes the line before it makes the
//! calls of that line.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// A line of an interpreted program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ScriptLine {
    file: Arc<str>,
    line: u32,
}

impl fmt::Display for ScriptLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

thread_local! {
    static NOTED: RefCell<Option<ScriptLine>> = const { RefCell::new(None) };
}

/// Notes that the calling thread's next calls of the driver are made in line `line` of `file`, a program that the caller
/// interprets: reports name that line. `None` ends it.
pub fn note_script_line(line: Option<(&Arc<str>, u32)>) {
    let noted = line.map(|(file, line)| ScriptLine {
        file: Arc::clone(file),
        line,
    });
    NOTED.set(noted);
}

/// The line that the calling thread has noted last. None while the thread ends.
pub(super) fn line() -> Option<ScriptLine> {
    NOTED
        .try_with(|noted| noted.borrow().clone())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_site::CallSite;
    use crate::order::Locate as _;

    #[test]
    fn a_call_is_made_at_the_line_that_was_noted_last() {
        let file = Arc::from("program");
        note_script_line(Some((&file, 3)));
        let third = CallSite::here();
        note_script_line(Some((&file, 4)));
        let fourth = CallSite::here();
        note_script_line(None);
        assert_eq!(third.locate().as_deref(), Some("program:3"));
        assert_eq!(fourth.locate().as_deref(), Some("program:4"));
        assert_ne!(third.identity(), fourth.identity());
        assert!(third.callers().is_empty());
        let own = CallSite::here().locate().unwrap_or_default();
        assert!(!own.starts_with("program"), "{own}");
    }
}
