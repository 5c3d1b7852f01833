//! Exit codes: 0 the lesson holds, 1 it does not, 2 bad usage, 3 the device lacks what the example
//! needs.

use crate::child::Ended;
use crate::device::{MissingProperty, OpenError};
use crate::options::UsageError;
use anyhow::Error;
use libcuda::SelectError;
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

impl Exit {
    /// The code for an error, by what is found in its chain.
    pub fn of(error: &Error) -> Self {
        error
            .chain()
            .find_map(Self::of_cause)
            .unwrap_or(Self::LessonFails)
    }

    fn of_cause(cause: &(dyn std::error::Error + 'static)) -> Option<Self> {
        let select = match cause.downcast_ref() {
            Some(OpenError::Select(error)) => Some(error),
            Some(OpenError::Usage(_)) => return Some(Self::Usage),
            _ => cause.downcast_ref(),
        };
        match select {
            Some(SelectError::Absent { .. }) => return Some(Self::DeviceLacks),
            Some(SelectError::Environment(_) | SelectError::Profile(_)) => {
                return Some(Self::Usage);
            }
            _ => {}
        }
        if let Some(Ended(status)) = cause.downcast_ref() {
            return [Self::Usage, Self::DeviceLacks]
                .into_iter()
                .find(|&exit| status.code() == Some(exit as i32));
        }
        if cause.is::<MissingProperty>() {
            return Some(Self::DeviceLacks);
        }
        cause.is::<UsageError>().then_some(Self::Usage)
    }
}

/// Prints an error and its causes as one line on standard error.
pub fn complain(error: &Error) {
    eprintln!("error: {error:#}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context, anyhow};

    #[cfg(unix)]
    #[test]
    fn a_process_ends_as_the_child_that_it_asked() {
        use std::os::unix::process::ExitStatusExt;
        use std::process::ExitStatus;
        let exit = |code: i32| {
            let ended = Ended(ExitStatus::from_raw(code << 8));
            Exit::of(&Error::new(ended).context("part connections"))
        };
        assert_eq!(exit(1), Exit::LessonFails);
        assert_eq!(exit(2), Exit::Usage);
        assert_eq!(exit(3), Exit::DeviceLacks);
        assert_eq!(exit(101), Exit::LessonFails);
    }

    #[test]
    fn the_cause_decides_however_deep_it_lies() {
        let usage =
            Error::new(UsageError("more chunks than elements".into())).context("part three-way");
        assert_eq!(Exit::of(&usage), Exit::Usage);
        let missing = MissingProperty {
            device: "d".into(),
            property: "p".into(),
            needed: "n".into(),
        };
        assert_eq!(
            Exit::of(&Err::<(), _>(missing).context("c").unwrap_err()),
            Exit::DeviceLacks
        );
        let absent = SelectError::Absent {
            reason: "libcuda.so.1 not found".into(),
        };
        assert_eq!(Exit::of(&OpenError::from(absent).into()), Exit::DeviceLacks);
        assert_eq!(Exit::of(&anyhow!("anything else")), Exit::LessonFails);
    }
}
