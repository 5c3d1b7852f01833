//! One command for the chapter: `cargo chapter …`.

mod check;
mod compare;
mod demos;
mod doctor;
mod expectations;
mod folder;
mod list;
mod program;
mod report;
mod run;
mod selection;
mod targets;
mod timeline;

use chapter_terminal::UsageError;
use chapter_terminal::exit::complain;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Lists, runs, compares and draws the examples of the chapter
#[derive(Parser)]
#[command(name = "cargo chapter", bin_name = "cargo chapter")]
struct Chapter {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compares results with what is expected of them on this device
    Check(check::Arguments),
    /// Shows what was timed: variants beside each other, with their bounds, or two runs
    Compare(compare::Arguments),
    /// Runs a part under the name of what it shows
    Demos(demos::Arguments),
    /// Says what this machine has, what would be used and why, and how to get what is missing
    Doctor(doctor::Arguments),
    /// Lists the targets and their parts: what each asks and needs, and whether this machine has it
    List(list::Arguments),
    /// Writes what a run of the chapter left behind as one HTML page and as Markdown
    Report(report::Arguments),
    /// Runs targets, keeps their results, and says of each part whether its lesson holds
    Run(run::Arguments),
    /// Lists what the examples' manifests declare, as the file that programs without a workspace need
    #[command(hide = true)]
    Targets,
    /// Says what a recorded timeline shows
    Timeline(timeline::Arguments),
}

fn main() -> ExitCode {
    let done = match Chapter::parse().command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Demos(arguments) => demos::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Targets => targets::run(),
        Command::Timeline(arguments) => timeline::run(&arguments),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(error) => {
            complain(&error);
            UsageError::exit_of(&error).into()
        }
    }
}
