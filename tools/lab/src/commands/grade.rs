//! `cargo lab grade`: submissions, each on its own, and what came out of them for people and for programs.

use crate::attempt::{Attempt, Device, Place};
use crate::catalogue::{self, Catalogue, Kind, Lab};
use crate::compiler::Compilers;
use crate::goal::Goal;
use crate::judge::{Verdict, judge};
use crate::process::{Ended, Limits};
use crate::submission::Submission;
use crate::{autograders, originals, report};
use anyhow::{Context, Result, ensure};
use chapter_terminal::{Exit, UsageError, output};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The command line.
#[derive(clap::Args)]
pub struct Arguments {
    /// A folder or an archive (.zip, .tar, .tar.gz) for each student
    #[arg(required = true)]
    submissions: Vec<PathBuf>,
    /// Take each entry of the folders given as a submission
    #[arg(long)]
    each: bool,
    /// Grade these labs only
    #[arg(long, value_name = "LAB")]
    labs: Vec<String>,
    /// Where the results are written
    #[arg(long, value_name = "FOLDER", default_value = "grades")]
    out: PathBuf,
    /// Where the labs run
    #[arg(long, value_enum, default_value = "software")]
    device: Device,
    /// How many submissions are graded at the same time; without it, one per core
    #[arg(long)]
    jobs: Option<usize>,
    /// Seconds that a program may run
    #[arg(long, value_name = "SECONDS", default_value = "20")]
    time: u64,
    /// Memory that a program may use, in MiB
    #[arg(long, value_name = "MIB", default_value = "4096")]
    memory: u64,
    /// Run submissions without confinement, where the system has none
    #[arg(long)]
    unconfined: bool,
}

/// Characters that are kept of what a compiler or a program says.
const MOST_SAID: usize = 2000;

/// What became of one lab of a submission.
#[derive(Clone, Debug, Serialize)]
pub struct Graded {
    /// The marks.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What happened, in a few words, where that is not only marks.
    pub note: Option<String>,
    /// What the compiler or the program said to that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

/// What became of a submission.
#[derive(Clone, Debug, Serialize)]
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
}

/// All that one grading needs.
struct Grading {
    catalogue: Catalogue,
    compilers: Compilers,
    labs: Vec<usize>,
    goals: BTreeMap<String, Goal>,
    device: Device,
    time: Duration,
    memory: u64,
    confined: bool,
    /// What the files are compiled against.
    _libraries: tempfile::TempDir,
}

/// Grades submissions and writes the results.
///
/// # Errors
/// The tools fail; what a submission does is no error.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let start = Instant::now();
    let grading = Grading::open(arguments)?;
    let paths = paths(arguments)?;
    let jobs = arguments.jobs.unwrap_or(0);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?;
    let done = Mutex::new(0);
    let mut grades: Vec<Grade> = pool.install(|| {
        let graded = paths.par_iter().map(|path| {
            let grade = grading.grade(path)?;
            if let Ok(mut done) = done.lock() {
                *done += 1;
                let (student, points, of) = (&grade.student, grade.points, grade.of);
                let note = grade.problem.as_deref().unwrap_or_default();
                output::line(
                    format!(
                        "{done:3}/{} {student}: {points} of {of} points  {note}",
                        paths.len()
                    )
                    .trim_end(),
                );
            }
            Ok(grade)
        });
        graded.collect::<Result<_>>()
    })?;
    grades.sort_by(|a, b| a.student.cmp(&b.student));
    ensure_unique(&mut grades);
    write(&arguments.out, &grading, &grades)?;
    output::line(format!(
        "{} submissions in {:.0} s; results in {}",
        grades.len(),
        start.elapsed().as_secs_f64(),
        arguments.out.display()
    ));
    Ok(Exit::LessonHolds)
}

fn paths(arguments: &Arguments) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for path in &arguments.submissions {
        ensure!(
            path.exists(),
            UsageError(format!("there is no {}", path.display()))
        );
        if !arguments.each {
            paths.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).with_context(|| path.display().to_string())?;
        for entry in entries {
            let entry = entry?.path();
            let hidden = entry
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if !hidden {
                paths.push(entry);
            }
        }
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Two submissions of one name are numbered, so that neither's results replace the other's.
fn ensure_unique(grades: &mut [Grade]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for grade in grades {
        let count = seen.entry(report::file_name(&grade.student)).or_default();
        *count += 1;
        if *count > 1 {
            grade.student = format!("{} ({count})", grade.student);
        }
    }
}

impl Grading {
    fn open(arguments: &Arguments) -> Result<Self> {
        let catalogue = Catalogue::read(&catalogue::root())?;
        let confined = !arguments.unconfined;
        ensure!(
            !confined || cfg!(target_os = "linux"),
            UsageError(
                "programs can be confined on Linux only; with --unconfined they may do anything"
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
        compilers.host = compilers.host.with_copies_in(libraries.path())?;
        let chosen = labs.iter().map(|place| &catalogue.labs[*place]);
        let mut goals = BTreeMap::new();
        for lab in chosen {
            if lab.kind == Kind::Kernel {
                // Prepared once, and not by several submissions at the same time.
                let _ = compilers.device()?;
            }
            goals.insert(lab.name.clone(), Goal::read(lab, &catalogue.root)?);
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
            _libraries: libraries,
        })
    }

    /// Grades one submission in a folder of its own, which is gone afterwards.
    fn grade(&self, path: &Path) -> Result<Grade> {
        let submission = Submission::read(path, &self.catalogue);
        let folder = tempfile::Builder::new().prefix("lab-").tempdir()?;
        let mut labs = Vec::new();
        for place in &self.labs {
            labs.push(self.lab(&self.catalogue.labs[*place], &submission, folder.path())?);
        }
        Ok(Grade {
            student: submission.student,
            points: labs.iter().map(|lab| lab.verdict.points()).sum(),
            of: labs.iter().map(|lab| lab.verdict.of()).sum(),
            problem: submission.problem,
            labs,
        })
    }

    fn lab(&self, lab: &Lab, submission: &Submission, folder: &Path) -> Result<Graded> {
        let nothing = |note: &str| Graded {
            verdict: Verdict::of_nothing(lab, note),
            note: Some(note.to_owned()),
            said: None,
        };
        let Some(text) = submission.files.get(&lab.name) else {
            return Ok(nothing("not handed in"));
        };
        if originals::is_original(&self.catalogue, lab, text) {
            return Ok(nothing("as handed out"));
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
                Ended::Exit(0 | 1) => (None, None),
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

    fn place(&self, folder: &Path) -> Place<'_> {
        let limits = |time, memory: Option<u64>, may_fork| Limits {
            time,
            memory: memory.filter(|_| self.confined),
            folder: self.confined.then(|| folder.to_owned()),
            may_fork,
        };
        // NVIDIA's driver reserves more address space than any limit allows, and opens devices for writing.
        let memory = (self.device == Device::Software).then_some(self.memory);
        let mut program = limits(self.time, memory, false);
        if self.device == Device::Nvidia {
            program.folder = None;
        }
        Place {
            compilers: &self.compilers,
            folder: folder.to_owned(),
            device: self.device,
            limits: program,
            compiler_limits: limits(Duration::from_secs(60), Some(8 << 30), true),
            shown_from: folder.to_owned(),
        }
    }
}

/// Writes the class's table, its page, and for each student what autograders read.
fn write(out: &Path, grading: &Grading, grades: &[Grade]) -> Result<()> {
    let labs: Vec<&Lab> = grading
        .labs
        .iter()
        .map(|place| &grading.catalogue.labs[*place])
        .collect();
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let put = |name: &str, text: String| {
        let path = out.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    put("grades.csv", report::csv(&labs, grades))?;
    put("grades.json", serde_json::to_string_pretty(grades)? + "\n")?;
    put("grades.html", report::page(&labs, grades))?;
    for grade in grades {
        let folder = out.join(report::file_name(&grade.student));
        fs::create_dir_all(&folder)?;
        let of_student = |name: &str| format!("{}/{name}", report::file_name(&grade.student));
        put(&of_student("results.json"), autograders::gradescope(grade)?)?;
        put(
            &of_student("classroom.json"),
            autograders::classroom(grade)?,
        )?;
    }
    Ok(())
}
