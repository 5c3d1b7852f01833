//! Errors in modules, with their positions.

use std::fmt;

use thiserror::Error;

/// Why a module was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PtxErrorKind {
    /// The text is not PTX; `ptxas` would refuse it too.
    Syntax,
    /// Valid PTX (as far as we know) that the software GPU does not implement.
    Unsupported,
}

impl fmt::Display for PtxErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "syntax error",
            Self::Unsupported => "unsupported by the software GPU",
        })
    }
}

/// A refused module: the place, the offending text and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("PTX line {line}{}: {kind}: {message}{}", in_function(.function), offending(.text))]
pub struct PtxError {
    /// Whether the text is wrong or merely not implemented.
    pub kind: PtxErrorKind,
    /// Line in the PTX text, from 1.
    pub line: u32,
    /// Column in the line, from 1; 0 when the whole line is meant.
    pub column: u32,
    /// The kernel or device function that contains the place.
    pub function: Option<String>,
    /// The offending text.
    pub text: String,
    /// Its error.
    pub message: String,
}

impl PtxError {
    /// An error for a construct that PTX does not allow.
    pub fn syntax(line: u32, text: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(PtxErrorKind::Syntax, line, text.into(), message.into())
    }

    /// PTX that is valid, and that the software GPU does not execute.
    pub fn unsupported(line: u32, text: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(PtxErrorKind::Unsupported, line, text.into(), message.into())
    }

    fn new(kind: PtxErrorKind, line: u32, text: String, message: String) -> Self {
        Self {
            kind,
            line,
            column: 0,
            function: None,
            text,
            message,
        }
    }

    /// Names the function around the place, unless a more precise one is known already.
    pub(crate) fn inside(mut self, function: &str) -> Self {
        self.function.get_or_insert_with(|| function.to_owned());
        self
    }
}

fn in_function(function: &Option<String>) -> String {
    function
        .as_ref()
        .map_or_else(String::new, |name| format!(" ({name})"))
}

fn offending(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(": `{text}`")
    }
}
