//! Compiling and running one file of one lab.

use crate::answers;
use crate::catalogue::{Kind, Lab};
use crate::compiler::Compilers;
use crate::goal::counted;
use crate::process::{self, Done, Ended, Limits};
use crate::record;
use anyhow::{Context, Result};
use chapter_results::lab::{HandedIn, LabRecord};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Where a lab runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LabDevice {
    /// The software GPU, on which verdicts are the same on every machine.
    Software,
    /// An NVIDIA GPU, with measured times and limits of its own.
    Nvidia,
}

impl LabDevice {
    fn word(self) -> &'static str {
        match self {
            Self::Software => "software",
            Self::Nvidia => "nvidia",
        }
    }
}

/// What the software GPU models, whatever the environment says: verdicts are to be the same everywhere.
const MODEL: &str = "h200";

/// How often a program is recorded on a GPU. The shortest run is judged.
const RECORDED_RUNS: usize = 3;

/// How often a program runs without CUPTI, where its time is judged.
const TIMED_RUNS: usize = 3;

/// The outcome for a file.
#[derive(Debug)]
pub enum Attempt {
    /// The compiler refused it, with these words.
    Refused(String),
    /// It ran.
    Ran(Box<LabRun>),
    /// Answers to questions, by their numbers.
    Answered(Vec<Option<String>>),
    /// A requirement is missing.
    Lacks(String),
}

/// A run of a program.
#[derive(Debug)]
pub struct LabRun {
    /// How it ended.
    pub ended: Ended,
    /// What it printed.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// What the recorder wrote, if it came to that. On a GPU: of the shortest of the recorded runs.
    pub record: Option<LabRecord>,
    /// Why what the program left in the record's place is no record.
    pub refused: Option<String>,
    /// On a GPU: records of more runs, without CUPTI. Times are those of the shortest run.
    pub without_cupti: Vec<LabRecord>,
    /// The compiler's warnings.
    pub warnings: String,
}

/// Where a file is tried.
pub struct AttemptSetup<'a> {
    /// The compilers and the libraries.
    pub compilers: &'a Compilers,
    /// A folder for the program and its record.
    pub folder: PathBuf,
    /// The device.
    pub device: LabDevice,
    /// The program's limits.
    pub limits: Limits,
    /// The compiler's.
    pub compiler_limits: Limits,
    /// The folder that the source's name is shown relative to.
    pub shown_from: PathBuf,
}

impl<'a> AttemptSetup<'a> {
    /// A place for a file that is trusted.
    pub fn trusted(compilers: &'a Compilers, folder: &Path, device: LabDevice) -> Self {
        Self {
            compilers,
            folder: folder.to_owned(),
            device,
            limits: Limits::time(Duration::from_secs(30)),
            compiler_limits: Limits::time(Duration::from_secs(120)),
            shown_from: compilers.root.clone(),
        }
    }

    /// Compiles and runs a file of a lab, or reads its answers.
    ///
    /// # Errors
    /// The tools fail, and not the file.
    pub fn attempt(&self, lab: &Lab, source: &Path) -> Result<Attempt> {
        match lab.kind {
            Kind::Explain => {
                let text = fs::read_to_string(source)
                    .with_context(|| format!("cannot read {}", source.display()))?;
                let given = answers::read(&text, lab.answers.len());
                Ok(Attempt::Answered(given))
            }
            Kind::Kernel => self.compile_kernel(lab, source),
            _ => self.compile(lab, source, None),
        }
    }

    /// Runs the program whose run the questions of a lab are about.
    ///
    /// # Errors
    /// The tools fail, and not the program.
    pub fn explained(&self, lab: &Lab) -> Result<Attempt> {
        self.compile(lab, &lab.host(&self.compilers.root), None)
    }

    fn compile_kernel(&self, lab: &Lab, source: &Path) -> Result<Attempt> {
        if let Some(program) = self.compilers.program(source) {
            let ptx = program.with_extension("ptx");
            return match ptx.exists() {
                true => self.compile(lab, &lab.host(&self.compilers.root), Some(&ptx)),
                false => Ok(Attempt::Lacks(format!("there is no {}", ptx.display()))),
            };
        }
        let device = match self.compilers.device()? {
            Ok(device) => device,
            Err(lacks) => return Ok(Attempt::Lacks(lacks)),
        };
        let ptx = self.folder.join(&lab.name).with_extension("ptx");
        let _ = fs::remove_file(&ptx);
        let (shown, from) = (self.shown(source), &self.shown_from);
        match device.compile(shown, &ptx, from, &self.compiler_limits)? {
            Err(refused) => Ok(Attempt::Refused(refused)),
            Ok(_) => self.compile(lab, &lab.host(&self.compilers.root), Some(&ptx)),
        }
    }

    /// Compiles a file for a machine without compilers: to the program, or the PTX, that [`Compilers::program`] names there.
    ///
    /// # Errors
    /// It does not compile.
    pub fn compile_for(&self, lab: &Lab, source: &Path, programs: &Path) -> Result<()> {
        let folder = source
            .parent()
            .and_then(Path::file_name)
            .unwrap_or_default();
        let folder = programs.join(folder);
        fs::create_dir_all(&folder)?;
        let program = folder.join(source.file_stem().unwrap_or_default());
        let (shown, from) = (self.shown(source), &self.shown_from);
        let is_device_code = lab.kind == Kind::Kernel && source != lab.host(&self.compilers.root);
        let compiled = if is_device_code {
            let device = self.compilers.device()?.map_err(anyhow::Error::msg)?;
            let ptx = program.with_extension("ptx");
            device.compile(shown, &ptx, from, &self.compiler_limits)?
        } else {
            let host = &self.compilers.host;
            host.compile(shown, &program, from, &self.compiler_limits)?
        };
        let refused = |words| anyhow::anyhow!("{}: {words}", source.display());
        compiled.map(drop).map_err(refused)
    }

    fn shown<'b>(&self, source: &'b Path) -> &'b Path {
        source.strip_prefix(&self.shown_from).unwrap_or(source)
    }

    fn compile(&self, lab: &Lab, source: &Path, ptx: Option<&Path>) -> Result<Attempt> {
        if let Some(program) = self.compilers.program(source) {
            return self.run(lab, &program, String::new(), ptx);
        }
        let program = format!("{}{}", lab.name, env::consts::EXE_SUFFIX);
        let program = self.folder.join(program);
        let (shown, from) = (self.shown(source), &self.shown_from);
        let host = &self.compilers.host;
        match host.compile(shown, &program, from, &self.compiler_limits)? {
            Ok(warnings) => self.run(lab, &program, warnings, ptx),
            Err(refused) => Ok(Attempt::Refused(refused)),
        }
    }

    fn run(
        &self,
        lab: &Lab,
        program: &Path,
        warnings: String,
        ptx: Option<&Path>,
    ) -> Result<Attempt> {
        let (done, read) = self.recorded(lab, self.command(lab, program, ptx))?;
        let (mut record, refused) = match read.transpose() {
            Ok(record) => (record, None),
            Err(why) => (None, Some(why)),
        };
        if let Some(first) =
            record.take_if(|record| self.device == LabDevice::Nvidia && is_right(record))
        {
            record = Some(self.shortest_run(lab, program, ptx, first)?);
        }
        // The recorder's exit code for a device that is not there.
        if record.is_none() && done.ended == Ended::Exit(3) && self.device == LabDevice::Nvidia {
            return Ok(Attempt::Lacks(done.stderr.trim().to_owned()));
        }
        let is_timed = self.device == LabDevice::Nvidia && lab.is_timed_on_a_gpu();
        let without_cupti = match &record {
            Some(record) if is_timed && is_right(record) => {
                self.without_cupti(lab, program, ptx)?
            }
            _ => Vec::new(),
        };
        Ok(Attempt::Ran(Box::new(LabRun {
            record,
            refused,
            without_cupti,
            ended: done.ended,
            stdout: done.stdout,
            stderr: done.stderr,
            warnings,
        })))
    }

    /// Records more runs of a program on a GPU, and returns the shortest of them and of `first`. The host may be interrupted
    /// between two launches, and operations that could overlap then do not; each disturbance makes a run longer.
    fn shortest_run(
        &self,
        lab: &Lab,
        program: &Path,
        ptx: Option<&Path>,
        first: LabRecord,
    ) -> Result<LabRecord> {
        let mut runs = vec![first];
        runs.extend(self.more_runs(lab, RECORDED_RUNS - 1, || self.command(lab, program, ptx))?);
        let time = |record: &LabRecord| counted(lab, &record.recording).makespan();
        runs.into_iter()
            .min_by_key(time)
            .context("no run was recorded")
    }

    /// Runs a program on a GPU some times more, for its time: CUPTI delays the first launch of a module by more than most labs
    /// take, and each run loads its module. Without CUPTI the recorder puts timing events around the operations, which costs the
    /// host about 2 µs each.
    fn without_cupti(
        &self,
        lab: &Lab,
        program: &Path,
        ptx: Option<&Path>,
    ) -> Result<Vec<LabRecord>> {
        self.more_runs(lab, TIMED_RUNS, || {
            let mut command = self.command(lab, program, ptx);
            command.env("CUPTI", "off");
            command
        })
    }

    /// The records of this many runs. A run with a wrong result is left out.
    fn more_runs(
        &self,
        lab: &Lab,
        runs: usize,
        command: impl Fn() -> Command,
    ) -> Result<Vec<LabRecord>> {
        let mut records = Vec::new();
        for _ in 0..runs {
            let (_, record) = self.recorded(lab, command())?;
            records.extend(record.and_then(Result::ok).filter(is_right));
        }
        Ok(records)
    }

    /// How a program of a lab is started.
    fn command(&self, lab: &Lab, program: &Path, ptx: Option<&Path>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.folder)
            .env("LAB", &lab.name)
            .env("CUDA_DRIVER", self.device.word())
            .env("SOFTWARE_GPU", MODEL)
            .env("SOFTWARE_GPU_COUNT", lab.gpus.to_string())
            .env("LAB_GPUS", lab.gpus.to_string())
            .env("SOFTWARE_GPU_RACES", "report")
            // Modules loaded late would be loaded within the graded time.
            .env("CUDA_MODULE_LOADING", "EAGER")
            .env("RUST_BACKTRACE", "0");
        if self.device == LabDevice::Nvidia {
            // As many hardware queues as there can be: streams that share one may wait for each other.
            command.env("CUDA_DEVICE_MAX_CONNECTIONS", "32");
        }
        if let Some(ptx) = ptx {
            command.env("LAB_PTX", ptx);
        }
        command
    }

    /// Runs a program to its end, and reads what the recorder wrote.
    fn recorded(&self, lab: &Lab, mut command: Command) -> Result<(Done, Option<ReadRecord>)> {
        let record = self.folder.join(format!("{}.record.json", lab.name));
        let _ = fs::remove_file(&record);
        command.env("LAB_RECORD", &record);
        let program = PathBuf::from(command.get_program());
        let done = process::run(command, &self.limits)
            .with_context(|| format!("cannot start {}", program.display()))?;
        Ok((done, self.read(&record)))
    }

    /// The record, with paths as the student knows them.
    fn read(&self, path: &Path) -> Option<ReadRecord> {
        let here = format!("{}/", self.shown_from.display());
        let read = record::read(path)?;
        Some(read.map(|mut record| {
            for report in &mut record.reports {
                *report = report.replace(&here, "");
            }
            record
        }))
    }
}

/// A record, or why it is invalid.
type ReadRecord = Result<LabRecord, String>;

fn is_right(record: &LabRecord) -> bool {
    record.result.as_ref().is_some_and(HandedIn::is_right)
}
