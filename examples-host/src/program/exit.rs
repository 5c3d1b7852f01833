//! Exit codes: 0 the lesson holds, 1 it does not, 2 bad usage, 3 the device lacks what the example
//! needs.

use crate::child::Ended;
use crate::device::{MissingProperty, OpenError};
use anyhow::Error;
use chapter_terminal::UsageError;
pub use chapter_terminal::exit::{Exit, complain};
use libcuda::SelectError;

/// The code for an error, by what is found in its chain.
pub fn of(error: &Error) -> Exit {
    let found = error.chain().find_map(of_cause);
    found.unwrap_or(Exit::LessonFails)
}

/// The end of a program that is no example: an error is printed, and its code returned.
pub fn code_of(done: Result<(), Error>) -> std::process::ExitCode {
    match done {
        Ok(()) => Exit::LessonHolds.into(),
        Err(error) => {
            complain(&error);
            of(&error).into()
        }
    }
}

fn of_cause(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    let select = match cause.downcast_ref() {
        Some(OpenError::Select(error)) => Some(error),
        Some(OpenError::Usage(_)) => return Some(Exit::Usage),
        _ => cause.downcast_ref(),
    };
    match select {
        Some(SelectError::Absent { .. }) => return Some(Exit::DeviceLacks),
        Some(SelectError::Environment(_) | SelectError::Misconfigured(_)) => {
            return Some(Exit::Usage);
        }
        _ => {}
    }
    if let Some(Ended(status)) = cause.downcast_ref() {
        return [Exit::Usage, Exit::DeviceLacks]
            .into_iter()
            .find(|&exit| status.code() == Some(exit as i32));
    }
    if cause.is::<MissingProperty>() {
        return Some(Exit::DeviceLacks);
    }
    cause.is::<UsageError>().then_some(Exit::Usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context, anyhow};

    #[cfg(unix)]
    #[test]
    fn a_process_ends_with_the_exit_code_of_its_child() {
        use std::os::unix::process::ExitStatusExt;
        use std::process::ExitStatus;
        let exit = |code: i32| {
            let ended = Ended(ExitStatus::from_raw(code << 8));
            of(&Error::new(ended).context("part connections"))
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
        assert_eq!(of(&usage), Exit::Usage);
        let missing = MissingProperty {
            device: "d".into(),
            property: "p".into(),
            needed: "n".into(),
        };
        assert_eq!(
            of(&Err::<(), _>(missing).context("c").unwrap_err()),
            Exit::DeviceLacks
        );
        let absent = SelectError::Absent {
            reason: "libcuda.so.1 not found".into(),
        };
        assert_eq!(of(&OpenError::from(absent).into()), Exit::DeviceLacks);
        assert_eq!(of(&anyhow!("anything else")), Exit::LessonFails);
    }
}
