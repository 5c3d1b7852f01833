//! `cuda-run`: compiles CUDA programs for the software GPU, and runs them on it.
//!
//! ```console
//! $ cuda-run nvcc hello.cu -o hello
//! $ cuda-run ./hello
//! $ cuda-run python train.py
//! ```

mod libraries;
mod nvcc;
mod program;
mod python;
mod timeline;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

/// Compile a CUDA program for the software GPU, or run one on it
///
/// `cuda-run nvcc ARGUMENTS` calls nvcc, from the PATH, from $CUDA_HOME or from Python's packages, with what the software GPU
/// needs: the shared runtime, and PTX in the program. `cuda-run PROGRAM ARGUMENTS` runs a program on the software GPU.
#[derive(Parser)]
#[command(name = "cuda-run", version)]
struct CommandLine {
    /// The race and memory checkers: off, report to standard error, or fail (exit code 1) on a report [default:
    /// $SOFTWARE_GPU_RACES, else report]
    #[arg(long)]
    races: Option<Races>,
    /// The GPU to model: h200, b200, h100, a100, l4, rtx4090, t4, or a profile file [default: $SOFTWARE_GPU, else h200]
    #[arg(long, value_name = "NAME|FILE.toml")]
    gpu: Option<String>,
    /// Write the program's timeline to this file: a page (.html), a picture (.svg), or data (.json)
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// `nvcc` or a program, and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Races {
    Off,
    Report,
    Fail,
}

impl Races {
    /// The value of `SOFTWARE_GPU_RACES`.
    fn value(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Report => "report",
            Self::Fail => "fail",
        }
    }
}

/// Exit code of a wrong command line, or of a program that cannot be run here.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments = CommandLine::parse();
    let done = match is_nvcc(&arguments.command[0]) {
        true => nvcc::run(&arguments),
        false => program::run(&arguments),
    };
    done.unwrap_or_else(|sentence| {
        eprintln!("cuda-run: {sentence}");
        ExitCode::from(USAGE)
    })
}

fn is_nvcc(command: &OsString) -> bool {
    Path::new(command)
        .file_name()
        .is_some_and(|name| name == "nvcc")
}

/// Exit code of a process that has ended: on Unix 128 and the signal's number if a signal ended it.
fn exit_code(status: std::process::ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| signal_code(status));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

#[cfg(unix)]
fn signal_code(status: std::process::ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal)
}

#[cfg(not(unix))]
fn signal_code(_status: std::process::ExitStatus) -> Option<i32> {
    None
}
