//! `explain`: runs any program on the software GPU and explains the timeline that it leaves behind.

use crate::timeline::{self, draw};
use anyhow::{Context as _, Result};
use chapter_terminal::{Exit, UsageError};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// Where `make shared-library` puts the library.
const LIBRARY: &str = "shared-library";
/// Where the dynamic loader looks first.
const SEARCHED: &str = if cfg!(target_os = "macos") {
    "DYLD_LIBRARY_PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// The runs, and the output that is shown.
#[derive(clap::Args)]
pub struct ExplainArguments {
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    program: Vec<OsString>,
    /// The folder of libcuda.so.1, for programs that load it [default: shared-library, if it is there]
    #[arg(long, value_name = "FOLDER")]
    library: Option<PathBuf>,
    /// The GPU to model: h200, b200, h100, a100, l4, rtx4090, t4, or a profile file [default: $SOFTWARE_GPU, else h200]
    #[arg(long, value_name = "NAME|FILE.toml")]
    gpu: Option<String>,
    /// Keep the timeline in this file, for `cargo chapter timeline`
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    /// How many gaps to list, the longest first
    #[arg(long, default_value_t = 5, value_name = "N")]
    gaps: usize,
    #[command(flatten)]
    drawings: draw::Drawings,
}

/// Runs it and shows it.
pub fn run(arguments: &ExplainArguments) -> Result<Exit> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let file = arguments
        .keep
        .clone()
        .unwrap_or_else(|| folder.path().join("timeline.json"));
    let ended = run_program(arguments, &file)?;
    if !ended.success() {
        println!("The program has failed: {ended}.");
    }
    if !file.exists() {
        return Err(without_timeline(arguments).into());
    }
    let found = timeline::explain(&file, arguments.gaps, &arguments.drawings)?;
    Ok(match ended.success() && !found {
        true => Exit::LessonHolds,
        false => Exit::LessonFails,
    })
}

/// Runs the program with its own input and output.
fn run_program(arguments: &ExplainArguments, file: &Path) -> Result<ExitStatus> {
    let file = std::path::absolute(file).context("the present folder is not there")?;
    // What a run before has left is not of this one.
    let _ = std::fs::remove_file(&file);
    let name = &arguments.program[0];
    let mut command = Command::new(name);
    command
        .args(&arguments.program[1..])
        .env("CUDA_DRIVER", "software")
        .env("SOFTWARE_GPU_TIMELINE", &file);
    if let Some(gpu) = &arguments.gpu {
        command.env("SOFTWARE_GPU", gpu);
    }
    if let Some(library) = library(arguments)? {
        let before = env::var_os(SEARCHED).unwrap_or_default();
        let folders = std::iter::once(library).chain(env::split_paths(&before));
        let folders = env::join_paths(folders).context("--library: a folder's name has a colon")?;
        command.env(SEARCHED, folders);
    }
    command.status().map_err(|error| {
        let has_folder = Path::new(name).components().count() > 1;
        let name = name.display();
        let hint = match has_folder {
            true => String::new(),
            false => format!("; write a program of this folder as ./{name}"),
        };
        UsageError(format!("cannot start {name}: {error}{hint}")).into()
    })
}

/// The folder of the library, if there is one.
fn library(arguments: &ExplainArguments) -> Result<Option<PathBuf>> {
    let folder = arguments.library.clone().unwrap_or_else(|| LIBRARY.into());
    if folder.join("libcuda.so.1").exists() {
        return Ok(Some(std::path::absolute(folder)?));
    }
    match arguments.library {
        None => Ok(None),
        Some(_) => {
            let folder = folder.display();
            let what = format!(
                "--library {folder}: no libcuda.so.1 is there; `make shared-library` builds it"
            );
            Err(UsageError(what).into())
        }
    }
}

fn without_timeline(arguments: &ExplainArguments) -> UsageError {
    let name = arguments.program[0].display();
    UsageError(format!(
        "{name} has left no timeline: it made no call of the driver on the software GPU. A program that is not linked with the \
         crate libcuda needs its library: run `make shared-library`, and name its folder with --library"
    ))
}
