//! Errors in a program, with their positions.

use std::fmt;

/// An error in a line of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    /// The line, from 1.
    pub line: u32,
    /// The error, and what to do.
    pub message: String,
}

impl ProgramError {
    /// An error in `line`.
    pub fn new(line: u32, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "program:{}: {}", self.line, self.message)
    }
}

impl std::error::Error for ProgramError {}
