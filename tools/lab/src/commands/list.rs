//! `cargo lab list`.

use crate::catalogue::{self, Catalogue};
use crate::progress::Progress;
use anyhow::Result;
use chapter_terminal::{Exit, output, style};

/// The command line.
#[derive(clap::Args)]
pub struct ListArguments {}

/// Shows the table of labs.
///
/// # Errors
/// The catalogue cannot be read.
pub fn run(_: &ListArguments) -> Result<Exit> {
    show(&Catalogue::read(&catalogue::root())?);
    Ok(Exit::LessonHolds)
}

/// Shows the table.
pub fn show(catalogue: &Catalogue) {
    let progress = Progress::read(&catalogue.root);
    let width = catalogue
        .labs
        .iter()
        .map(|lab| lab.name.len())
        .max()
        .unwrap_or(0);
    let (mut reached, mut of) = (0, 0);
    for lab in &catalogue.labs {
        let best = progress.best.get(&lab.name);
        let points = best.map_or(0, |best| best.0);
        let sign = if progress.passed(&lab.name) {
            style::good("+")
        } else {
            " ".to_owned()
        };
        let all = best.map_or(lab.points(), |best| best.1);
        output::line(format!(
            "{sign} {:width$}  {points:2}/{all:<2}  {:14}  {}",
            lab.name,
            lab.kind.word(),
            lab.title
        ));
        reached += points;
        of += all;
    }
    output::line(format!("\n{reached} of {of} points. Next: cargo lab next"));
}
