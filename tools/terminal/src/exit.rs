//! Exit codes: 0 the lesson holds, 1 it does not, 2 bad usage, 3 the device lacks what the example
//! needs.

use crate::style;
use anyhow::Error;
use chapter_results::new_file::Refused;
use std::process::ExitCode;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Every claim holds.
    LessonHolds = 0,
    /// A result is wrong, a claim does not hold, or something failed on the way.
    LessonFails = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// The device, or a property of it, is not there.
    DeviceLacks = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The request makes no sense. A program that ends with this error exits with code 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl From<Refused> for UsageError {
    fn from(refused: Refused) -> Self {
        Self(refused.0)
    }
}

impl UsageError {
    /// The code for an error: that of bad usage when a [`UsageError`] is in its chain, else that of failure.
    pub fn exit_of(error: &Error) -> Exit {
        match error.chain().any(|cause| cause.is::<Self>()) {
            true => Exit::Usage,
            false => Exit::LessonFails,
        }
    }
}

/// Prints an error and its causes as one line on standard error.
pub fn complain(error: &Error) {
    anstream::eprintln!("{} {error:#}", style::bad("error:"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn bad_usage_is_found_however_deep_it_lies() {
        let usage = Error::new(UsageError("more chunks than elements".into()));
        let usage = usage.context("part three-way").context("basic_streams");
        assert_eq!(UsageError::exit_of(&usage), Exit::Usage);
        assert_eq!(
            UsageError::exit_of(&anyhow!("anything else")),
            Exit::LessonFails
        );
    }
}
