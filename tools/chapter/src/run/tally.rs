//! The number of parts by outcome, and the exit code that follows.

use super::verdict::Outcome;
use chapter_terminal::Exit;
use chapter_terminal::style;
use std::fmt;

/// How many parts ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    hold: usize,
    fail: usize,
    skipped: usize,
    /// A part selected by name was skipped.
    pub named_skipped: bool,
    /// An example refused its arguments.
    pub usage: bool,
}

impl Tally {
    /// Counts one.
    pub fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Holds { .. } => self.hold += 1,
            Outcome::Skipped(_) => self.skipped += 1,
            Outcome::Fails(_) | Outcome::Broken(_) => self.fail += 1,
        }
    }

    /// The worst of what happened: bad usage, then a lesson that does not hold, then a lack.
    pub fn exit(&self) -> Exit {
        match self {
            Self { usage: true, .. } => Exit::Usage,
            Self { fail: 1.., .. } => Exit::LessonFails,
            Self {
                named_skipped: true,
                ..
            } => Exit::DeviceLacks,
            _ => Exit::LessonHolds,
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.hold, style::good("ok"))?;
        if self.fail > 0 {
            write!(f, ", {} {}", self.fail, style::bad("FAILED"))?;
        }
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_decides() {
        let mut tally = Tally::default();
        assert_eq!(tally.exit(), Exit::LessonHolds);
        tally.count(&Outcome::Holds { claims: 3 });
        tally.count(&Outcome::Skipped("the device lacks memory pools".into()));
        assert_eq!(tally.exit(), Exit::LessonHolds);
        let text = |tally: &Tally| style::plain(&tally.to_string());
        assert_eq!(text(&tally), "1 ok, 1 skipped");
        tally.named_skipped = true;
        assert_eq!(tally.exit(), Exit::DeviceLacks);
        tally.count(&Outcome::Broken("it ended early".into()));
        assert_eq!(tally.exit(), Exit::LessonFails);
        assert_eq!(text(&tally), "1 ok, 1 FAILED, 1 skipped");
        tally.usage = true;
        assert_eq!(tally.exit(), Exit::Usage);
    }
}
