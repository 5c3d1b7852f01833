//! `check`: compares results with recorded expectations.

use crate::compare;
use crate::expectations::{self, Earlier};
use crate::targets::Targets;
use anyhow::Result;
use chapter_results::Results;
use chapter_terminal::Exit;
use chapter_terminal::UsageError;
use chapter_terminal::output;
use chapter_terminal::wrap;
use std::path::PathBuf;

/// The two sides of the comparison.
#[derive(clap::Args)]
pub struct CheckArguments {
    /// Result folders of `run`, or files written by an example's `--json`
    #[arg(required = true, value_name = "FOLDER|FILE.json")]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    expectations: ExpectationsArguments,
}

/// How runs are compared with expectations.
#[derive(clap::Args)]
pub struct ExpectationsArguments {
    /// The folder of expectations; by default `expectations` in the workspace, or beside this program
    #[arg(long, value_name = "FOLDER")]
    expectations: Option<PathBuf>,

    /// Record these runs as the new expectations; several runs of a target on one device are merged
    #[arg(long)]
    update_expectations: bool,

    /// Add these runs to the recorded ones of the same work, and not replace them: for runs on another machine with the same GPU
    #[arg(long, requires = "update_expectations")]
    keep_earlier_runs: bool,

    /// Also fail when something could not be compared: no expectation, an outdated one, or a part that did not run
    #[arg(long, conflicts_with = "update_expectations")]
    strict: bool,
}

/// Compares them, or records them.
pub fn run(arguments: &CheckArguments) -> Result<Exit> {
    let mut runs: Vec<Results> = Vec::new();
    for path in &arguments.paths {
        runs.extend(compare::read(path)?);
    }
    let usual = || Targets::find().map_or_else(|_| "expectations".into(), |t| t.expectations());
    judge(&runs, &arguments.expectations, usual)
}

/// Compares these runs, or records them. `usual` is the folder of expectations if none was named.
///
/// # Errors
/// When expectations cannot be read or written.
pub fn judge(
    runs: &[Results],
    arguments: &ExpectationsArguments,
    usual: impl FnOnce() -> PathBuf,
) -> Result<Exit> {
    if let Some(named) = &arguments.expectations
        && !arguments.update_expectations
        && !named.is_dir()
    {
        let why = format!("--expectations {}: no such folder", named.display());
        return Err(UsageError(why).into());
    }
    let folder = arguments.expectations.clone().unwrap_or_else(usual);
    if arguments.update_expectations {
        let earlier = match arguments.keep_earlier_runs {
            true => Earlier::Kept,
            false => Earlier::Replaced,
        };
        let updated = expectations::update(runs, &folder, earlier)?;
        updated.lines.iter().for_each(|line| wrap::print(line, 4));
        if !updated.anything {
            output::line("Nothing was recorded.");
            return Ok(Exit::LessonFails);
        }
        return Ok(Exit::LessonHolds);
    }
    let outcome = expectations::check(runs, &folder)?;
    let lines = outcome.lines(arguments.strict);
    lines.iter().for_each(|line| wrap::print(line, 4));
    Ok(outcome.exit(arguments.strict))
}
