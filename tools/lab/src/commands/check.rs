//! `cargo lab check`.

use super::session::Session;
use crate::attempt::LabDevice;
use crate::progress::Progress;
use anyhow::Result;
use chapter_terminal::{Exit, output, style};

/// The command line.
#[derive(clap::Args)]
pub struct CheckArguments {
    /// Where the labs run
    #[arg(long, value_enum, default_value = "software")]
    device: LabDevice,
}

/// Tries all labs, a line each.
///
/// # Errors
/// The tools fail, and not a lab.
pub fn run(arguments: &CheckArguments) -> Result<Exit> {
    let session = Session::open(arguments.device)?;
    let mut progress = Progress::read(session.root());
    let (mut points, mut of, mut all) = (0, 0, true);
    for lab in &session.catalogue.labs {
        let attempt = session.attempt(lab, &lab.exercise(session.root()))?;
        let (_, verdict) = session.judge(lab, &attempt);
        super::run::note(&mut progress, lab, &verdict);
        let missed = verdict.missed().join(", ");
        let sign = if verdict.passed() {
            style::good("+")
        } else {
            style::bad("-")
        };
        output::line(
            format!(
                "{sign} {:2}/{:<2} {}  {missed}",
                verdict.points(),
                verdict.of(),
                lab.name
            )
            .trim_end(),
        );
        points += verdict.points();
        of += verdict.of();
        all &= verdict.passed();
    }
    progress.write(session.root())?;
    output::line(format!("{points} of {of} points"));
    Ok(if all {
        Exit::LessonHolds
    } else {
        Exit::LessonFails
    })
}
