//! The command of the labs: `cargo lab …`.

mod autograders;
mod commands;
mod grading;
mod mistakes;
mod originals;
mod progress;
mod report;
mod submission;

use lab::{attempt, catalogue, compiler, goal, judge, process, show};

use chapter_terminal::UsageError;
use chapter_terminal::exit::complain;
use chapter_terminal::output;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use commands::{check, diff, grade, handout, hint, list, reset, run, verify, watch};
use std::process::ExitCode;

/// Exercises on CUDA streams, graded by what the device did
#[derive(Parser)]
#[command(name = "cargo lab", bin_name = "cargo lab")]
struct Labs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show all labs and what you have reached
    List(list::ListArguments),
    /// Show the first lab that you have not passed
    Next,
    /// Build, run and judge one lab
    Run(run::RunArguments),
    /// Judge a lab whenever its file is saved
    Watch(watch::WatchArguments),
    /// Show a hint; each call shows one more
    Hint(hint::HintArguments),
    /// Judge all labs, and note what was reached
    Check(check::CheckArguments),
    /// Show what you have changed in a lab
    Diff(diff::DiffArguments),
    /// Put a lab back into its starting state
    Reset(reset::ResetArguments),
    /// For teachers: grade submissions, each confined to a folder of its own
    Grade(grade::GradeArguments),
    /// For teachers: write an archive for students, without solutions
    Handout(handout::HandoutArguments),
    /// For authors: each exercise fails as stated, each solution passes
    Verify(verify::VerifyArguments),
}

fn main() -> ExitCode {
    let help = Labs::command().term_width(output::columns());
    let parsed = Labs::from_arg_matches(&help.get_matches());
    let done = match parsed.unwrap_or_else(|error| error.exit()).command {
        Command::List(arguments) => list::run(&arguments),
        Command::Next => commands::next::run(),
        Command::Run(arguments) => run::run(&arguments),
        Command::Watch(arguments) => watch::run(&arguments),
        Command::Hint(arguments) => hint::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Reset(arguments) => reset::run(&arguments),
        Command::Grade(arguments) => grade::run(&arguments),
        Command::Handout(arguments) => handout::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(error) => {
            complain(&error);
            UsageError::exit_of(&error).into()
        }
    }
}
