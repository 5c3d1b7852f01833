//! Grading: each submission in isolation.

pub mod ledger;
pub mod pace;
pub mod similar;

use crate::attempt::{Attempt, AttemptSetup, LabDevice};
use crate::catalogue::{self, Catalogue, Kind, Lab};
use crate::commands::grade::GradeArguments;
use crate::compiler::Compilers;
use crate::goal::Goal;
use crate::judge::{Verdict, judge};
use crate::originals;
use crate::process::{Confinement, Ended, Limits, Role};
use crate::submission::Submission;
use anyhow::{Context, Result, bail, ensure};
use chapter_terminal::UsageError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Characters that are kept of what a compiler or a program says.
const MOST_SAID: usize = 2000;

/// How long a compiler may work on one file.
const COMPILE_TIME: Duration = Duration::from_secs(60);

/// The address space of a compiler, in bytes.
const COMPILE_MEMORY: u64 = 8 << 30;

/// The outcome of one lab of a submission.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Graded {
    /// The marks.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What happened, in a few words, where that is not only marks.
    pub note: Option<String>,
    /// What the compiler or the program said to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

/// The outcome of a submission.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Grade {
    /// The student.
    pub student: String,
    /// By lab, in the labs' order.
    pub labs: Vec<Graded>,
    /// Points reached.
    pub points: u32,
    /// Points that could be reached.
    pub of: u32,
    /// Why nothing could be graded.
    pub problem: Option<String>,
    /// The labs that the grader itself failed to grade: it has to be run again for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

impl Grade {
    /// For a submission without labs.
    #[cfg(test)]
    pub fn of_nothing(student: &str, problem: &str) -> Self {
        Self {
            student: student.to_owned(),
            labs: Vec::new(),
            points: 0,
            of: 0,
            problem: Some(problem.to_owned()),
            failed: Vec::new(),
        }
    }
}

/// All that one grading needs.
pub struct Grading {
    /// The labs.
    pub catalogue: Catalogue,
    compilers: Compilers,
    labs: Vec<usize>,
    goals: BTreeMap<String, Goal>,
    device: LabDevice,
    time: Duration,
    memory: u64,
    confined: bool,
    /// The digest of all that decides about a grade besides the submission.
    identity: String,
    /// What the files are compiled against.
    _libraries: tempfile::TempDir,
}

impl Grading {
    /// Gets ready to grade as the command line says.
    ///
    /// # Errors
    /// The libraries do not build, or this system cannot confine programs.
    pub fn open(arguments: &GradeArguments) -> Result<Self> {
        let catalogue = Catalogue::read(&catalogue::root())?;
        let confined = !arguments.unconfined;
        ensure!(
            !confined || cfg!(target_os = "linux"),
            UsageError(
                "programs can be confined on Linux only; with --unconfined they may do anything"
                    .to_owned()
            )
        );
        ensure!(
            !confined || arguments.device == LabDevice::Software,
            UsageError(
                "NVIDIA's driver needs devices, files and memory that a confined program does not get: grade on the software GPU, \
                 or use --unconfined for submissions that you have read"
                    .to_owned()
            )
        );
        let mut labs = Vec::new();
        for word in &arguments.labs {
            let lab = catalogue.find(word)?;
            labs.extend(
                catalogue
                    .labs
                    .iter()
                    .position(|other| other.name == lab.name),
            );
        }
        if labs.is_empty() {
            labs = (0..catalogue.labs.len()).collect();
        }
        let mut compilers = Compilers::prepare(&catalogue.root)?;
        let libraries = tempfile::Builder::new()
            .prefix("lab-libraries-")
            .tempdir()?;
        let mut identity = vec![format!(
            "{:?} {} {} {confined}",
            arguments.device, arguments.time, arguments.memory
        )];
        identity.extend(compilers.host.identity());
        identity.sort();
        identity.push(fs::read_to_string(catalogue.root.join("labs/labs.toml"))?);
        compilers.host = compilers.host.with_copies_in(libraries.path())?;
        let chosen = labs.iter().map(|place| &catalogue.labs[*place]);
        let mut goals = BTreeMap::new();
        for lab in chosen {
            if lab.kind == Kind::Kernel {
                // Prepared once, and not by several submissions at the same time.
                let _ = compilers.device()?;
            }
            let goal = Goal::read(lab, &catalogue.root)?;
            identity.extend([lab.name.clone(), goal.text()]);
            goals.insert(lab.name.clone(), goal);
        }
        Ok(Self {
            compilers,
            labs,
            goals,
            device: arguments.device,
            time: Duration::from_secs(arguments.time),
            memory: arguments.memory << 20,
            confined,
            catalogue,
            identity: ledger::digest(identity.iter().map(String::as_str)),
            _libraries: libraries,
        })
    }

    /// The labs that are graded.
    pub fn labs(&self) -> impl Iterator<Item = &Lab> {
        self.labs.iter().map(|place| &self.catalogue.labs[*place])
    }

    /// The digest of a submission and of all that grades it.
    pub fn digest(&self, submission: &Submission) -> String {
        let files = submission.files.iter();
        let files = files.flat_map(|(lab, text)| [lab.as_str(), text.as_str()]);
        let own = [
            self.identity.as_str(),
            submission.problem.as_deref().unwrap_or_default(),
        ];
        ledger::digest(own.into_iter().chain(files))
    }

    /// Grades one submission in a folder of its own, which is gone afterwards. What fails while a lab is graded costs that lab.
    pub fn grade(&self, submission: &Submission) -> Grade {
        let folder = tempfile::Builder::new().prefix("lab-").tempdir();
        let folder = folder.context("cannot make a folder for the submission");
        let mut failed = Vec::new();
        let mut labs = Vec::new();
        for lab in self.labs() {
            let attempt = || match &folder {
                Ok(folder) => self.lab(lab, submission, folder.path()),
                Err(error) => bail!("{error:#}"),
            };
            let graded = panic::catch_unwind(AssertUnwindSafe(attempt));
            let graded = graded.unwrap_or_else(|_| bail!("the grader panicked: see above"));
            labs.push(graded.unwrap_or_else(|error| {
                failed.push(lab.name.clone());
                nothing(lab, &format!("not graded: {error:#}"))
            }));
        }
        Grade {
            student: submission.student.clone(),
            points: labs.iter().map(|lab| lab.verdict.points()).sum(),
            of: labs.iter().map(|lab| lab.verdict.of()).sum(),
            problem: submission.problem.clone(),
            labs,
            failed,
        }
    }

    fn lab(&self, lab: &Lab, submission: &Submission, folder: &Path) -> Result<Graded> {
        let Some(text) = submission.files.get(&lab.name) else {
            return Ok(nothing(lab, "not handed in"));
        };
        if originals::is_original(&self.catalogue, lab, text) {
            return Ok(nothing(lab, "as handed out"));
        }
        // A folder for each lab: what one leaves behind, the next does not find.
        let folder = folder.join(&lab.name);
        fs::create_dir(&folder)?;
        let source = folder.join(lab.file());
        fs::write(&source, text)?;
        let attempt = self.place(&folder).attempt(lab, &source)?;
        let verdict = judge(lab, self.goals.get(&lab.name), self.device, &attempt);
        let _ = fs::remove_dir_all(&folder);
        let (note, said) = match &attempt {
            Attempt::Refused(words) => (Some("does not compile".to_owned()), Some(words)),
            Attempt::Lacks(what) => (Some(what.clone()), None),
            Attempt::Ran(run) => match run.ended {
                Ended::Exit(0 | 1) => (
                    run.refused
                        .as_ref()
                        .map(|why| format!("its record is refused: {why}")),
                    None,
                ),
                ended => (Some(format!("the program {ended}")), Some(&run.stderr)),
            },
            Attempt::Answered(_) => (None, None),
        };
        let here = format!("{}/", folder.display());
        let beginning = |said: &String| said.replace(&here, "").chars().take(MOST_SAID).collect();
        let said = said.map(beginning);
        Ok(Graded {
            verdict,
            note,
            said,
        })
    }

    fn place(&self, folder: &Path) -> AttemptSetup<'_> {
        let limits = |time, role, memory, readable: &[PathBuf]| Limits {
            time,
            confinement: self.confined.then(|| Confinement {
                folder: folder.to_owned(),
                readable: readable.to_owned(),
                memory,
                role,
            }),
        };
        // The programs that run students' kernels are the grader's own.
        let hosts = [self.catalogue.root.join("labs/hosts")];
        AttemptSetup {
            compilers: &self.compilers,
            folder: folder.to_owned(),
            device: self.device,
            limits: limits(self.time, Role::Program, self.memory, &[]),
            compiler_limits: limits(COMPILE_TIME, Role::Compiler, COMPILE_MEMORY, &hosts),
            shown_from: folder.to_owned(),
        }
    }
}

/// What a lab gets for which nothing was judged.
fn nothing(lab: &Lab, note: &str) -> Graded {
    Graded {
        verdict: Verdict::of_nothing(lab, note),
        note: Some(note.to_owned()),
        said: None,
    }
}
