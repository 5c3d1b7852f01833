//! One command for the lessons: `cargo chapter …`.

mod check;
mod compare;
mod contents;
mod demos;
mod doctor;
mod expectations;
mod explain;
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
use chapter_terminal::output;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use std::process::ExitCode;

/// List, run, compare and draw the lessons
#[derive(Parser)]
#[command(name = "cargo chapter", bin_name = "cargo chapter")]
struct Chapter {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compare results with the expectations recorded for their device
    Check(check::CheckArguments),
    /// Show the times of a run with their bounds, or two runs side by side
    Compare(compare::CompareArguments),
    /// Run one part, chosen by its demo name
    Demos(demos::DemosArguments),
    /// Show what this machine has, and how to install what is missing
    Doctor(doctor::DoctorArguments),
    /// Run any CUDA program on the software GPU, and explain its timeline
    Explain(explain::ExplainArguments),
    /// List the targets and their parts, and what each part needs
    List(list::ListArguments),
    /// Write the results of a run as one HTML page and as Markdown
    Report(report::ReportArguments),
    /// Run targets, keep their results and give a verdict on each part
    Run(run::RunArguments),
    /// List what the examples' manifests declare, in the form of chapter-targets.txt
    #[command(hide = true)]
    Targets,
    /// Analyse a recorded timeline, or draw it
    Timeline(timeline::TimelineArguments),
}

fn main() -> ExitCode {
    let help = Chapter::command().term_width(output::columns());
    let parsed = Chapter::from_arg_matches(&help.get_matches());
    let done = match parsed.unwrap_or_else(|error| error.exit()).command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Demos(arguments) => demos::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
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
