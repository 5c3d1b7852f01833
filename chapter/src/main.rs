//! One command for the chapter: `cargo chapter …`.

mod check;
mod expectations;
mod timeline;

use clap::{Parser, Subcommand};
use examples_host::exit::{Exit, complain};
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
    /// Says what a recorded timeline shows
    Timeline(timeline::Arguments),
}

fn main() -> ExitCode {
    let done = match Chapter::parse().command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Timeline(arguments) => timeline::run(&arguments),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(error) => {
            complain(&error);
            Exit::of(&error).into()
        }
    }
}
