//! Compiling and running one file of one lab.

use crate::catalogue::Lab;
use crate::compiler::Compiler;
use crate::process::{self, Ended, Limits};
use anyhow::{Context, Result};
use chapter_results::lab::LabRecord;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Where a lab runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Device {
    /// The software GPU, on which verdicts are the same on every machine.
    Software,
    /// An NVIDIA GPU, with measured times and limits of its own.
    Nvidia,
}

impl Device {
    fn word(self) -> &'static str {
        match self {
            Self::Software => "software",
            Self::Nvidia => "nvidia",
        }
    }
}

/// What the software GPU models, whatever the environment says: verdicts are to be the same everywhere.
const MODEL: &str = "h200";

/// What became of a file.
#[derive(Debug)]
pub enum Attempt {
    /// The compiler refused it, with these words.
    Refused(String),
    /// It ran.
    Ran(Box<Run>),
    /// Answers to questions, by their numbers.
    Answered(Vec<Option<String>>),
    /// What it needs is not there.
    Lacks(String),
}

/// A run of a program.
#[derive(Debug)]
pub struct Run {
    /// How it ended.
    pub ended: Ended,
    /// What it printed.
    pub stdout: String,
    /// What it printed on standard error.
    pub stderr: String,
    /// What the recorder wrote, if it came to that.
    pub record: Option<LabRecord>,
    /// What the compiler warned of.
    pub warnings: String,
}

/// Where a file is tried.
pub struct Place<'a> {
    /// The compiler and the libraries.
    pub compiler: &'a Compiler,
    /// A folder for the program and its record.
    pub folder: &'a Path,
    /// The device.
    pub device: Device,
    /// The program's limits.
    pub limits: Limits,
    /// The compiler's.
    pub compiler_limits: Limits,
    /// The folder that the source's name is shown relative to.
    pub shown_from: PathBuf,
}

impl<'a> Place<'a> {
    /// A place for a file that is trusted.
    pub fn trusted(
        compiler: &'a Compiler,
        folder: &'a Path,
        device: Device,
        shown_from: &Path,
    ) -> Self {
        Self {
            compiler,
            folder,
            device,
            limits: Limits::time(Duration::from_secs(30)),
            compiler_limits: Limits::time(Duration::from_secs(120)),
            shown_from: shown_from.to_owned(),
        }
    }

    /// Compiles and runs a file of a lab, or reads its answers.
    ///
    /// # Errors
    /// The tools fail, and not the file.
    pub fn attempt(&self, lab: &Lab, source: &Path) -> Result<Attempt> {
        use crate::catalogue::Kind;
        match lab.kind {
            Kind::Explain => {
                let text = fs::read_to_string(source)
                    .with_context(|| format!("cannot read {}", source.display()))?;
                Ok(Attempt::Answered(crate::answers::read(
                    &text,
                    lab.answers.len(),
                )))
            }
            _ => self.compile_and_run(lab, source),
        }
    }

    fn compile_and_run(&self, lab: &Lab, source: &Path) -> Result<Attempt> {
        let program = self
            .folder
            .join(format!("{}{}", lab.name, env::consts::EXE_SUFFIX));
        let relative = source.strip_prefix(&self.shown_from).unwrap_or(source);
        let compiled =
            self.compiler
                .compile(relative, &program, &self.shown_from, &self.compiler_limits)?;
        let warnings = match compiled {
            Ok(warnings) => warnings,
            Err(refused) => return Ok(Attempt::Refused(refused)),
        };
        self.run(lab, &program, warnings)
    }

    fn run(&self, lab: &Lab, program: &Path, warnings: String) -> Result<Attempt> {
        let record = self.folder.join(format!("{}.record.json", lab.name));
        let _ = fs::remove_file(&record);
        let mut command = Command::new(program);
        command
            .current_dir(self.folder)
            .env("LAB", &lab.name)
            .env("LAB_RECORD", &record)
            .env("CUDA_DRIVER", self.device.word())
            .env("SOFTWARE_GPU", MODEL)
            .env("SOFTWARE_GPU_RACES", "report")
            // What is loaded late would be loaded within the time that is graded.
            .env("CUDA_MODULE_LOADING", "EAGER")
            .env("RUST_BACKTRACE", "0");
        let done = process::run(command, &self.limits)
            .with_context(|| format!("cannot start {}", program.display()))?;
        let text = fs::read_to_string(&record).ok();
        let mut record: Option<LabRecord> = text.and_then(|text| serde_json::from_str(&text).ok());
        let here = format!("{}/", self.shown_from.display());
        for report in record.iter_mut().flat_map(|record| &mut record.reports) {
            *report = report.replace(&here, "");
        }
        Ok(Attempt::Ran(Box::new(Run {
            ended: done.ended,
            stdout: done.stdout,
            stderr: done.stderr,
            record,
            warnings,
        })))
    }
}
