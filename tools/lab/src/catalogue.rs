//! The labs: what `labs/labs.toml` declares of each.

use anyhow::{Context, Result, bail};
use chapter_results::intervals::Engine;
use chapter_terminal::UsageError;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// All labs, in their order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// The labs.
    #[serde(rename = "lab")]
    pub labs: Vec<Lab>,
    /// The workspace's folder.
    #[serde(skip)]
    pub root: PathBuf,
}

/// A lab.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lab {
    /// Its number and name: `01_first_stream`.
    pub name: String,
    /// The subject, in a few words.
    pub title: String,
    /// What kind of work it is.
    #[serde(default)]
    pub kind: Kind,
    /// The lesson that explains it: a package, and a part of it.
    pub lesson: String,
    /// How many GPUs it needs. There are as many software GPUs.
    #[serde(default = "one")]
    pub gpus: u32,
    /// The criteria that its starting state does not meet.
    pub fails: Vec<String>,
    /// Hints, the least revealing first.
    pub hints: Vec<String>,
    /// What starts the clock; without it, the first operation does.
    #[serde(default)]
    pub clock_starts_with: Option<ClockStart>,
    /// Engines whose operations are not timed: what brings the result to the host.
    #[serde(default)]
    pub clock_leaves_out: Vec<Engine>,
    /// What is graded.
    pub criteria: Vec<Criterion>,
    /// For a lab with questions: the digests of the answers.
    #[serde(default)]
    pub answers: Vec<String>,
}

/// The first operation that belongs to what is timed: those before it set the program up.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockStart {
    /// Its engine.
    pub engine: Engine,
    /// The fewest bytes that it copies: set-up copies less.
    #[serde(default)]
    pub at_least_bytes: u64,
}

/// The student's task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Fill in what is missing.
    #[default]
    Write,
    /// Find what is wrong in a program that looks right.
    FindTheBug,
    /// Make it as fast as it can be.
    ReachTheBound,
    /// Answer questions about a recorded run.
    Explain,
    /// Write device code.
    Kernel,
}

impl Kind {
    /// A word for tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::FindTheBug => "find the bug",
            Self::ReachTheBound => "reach the bound",
            Self::Explain => "explain",
            Self::Kernel => "write a kernel",
        }
    }
}

/// One thing that is graded.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// The key under which results record it.
    pub id: String,
    /// Its points.
    pub points: u32,
    /// What is checked.
    pub check: Check,
    /// Further checks, made if that holds.
    #[serde(default)]
    pub also: Vec<Check>,
    /// The hint for a student when it is not met.
    pub teaches: String,
}

/// What is checked. Figures for an NVIDIA GPU stand beside those for the model, where the two differ.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Check {
    /// The program compiles.
    Compiles,
    /// Every element of the result is right.
    Right,
    /// The checkers of the software GPU report nothing. A GPU has no checkers: there it is not judged.
    Unreported,
    /// The device did exactly the work of the goal: bytes copied each way, launches and threads of kernels.
    EqualWork,
    /// The share of the busy time of one engine during which another of the same GPU is busy too.
    Overlap {
        /// The engine whose time counts.
        of: Engine,
        /// The other one; the same engine means that two of its operations run at once, on whichever GPUs.
        with: Engine,
        /// The least share.
        at_least: f64,
        /// The least share on an NVIDIA GPU.
        nvidia: f64,
    },
    /// The time from the first operation to the end of the last.
    Within {
        /// At most this many times what it is compared with.
        times: f64,
        /// The same on an NVIDIA GPU. Without it the time is not judged there: the host's own speed decides.
        nvidia: Option<f64>,
        /// The value for the comparison.
        of: Yardstick,
    },
    /// How often the program calls functions of the driver, until it hands in.
    Calls {
        /// The functions, by the driver's names; their calls are added up.
        names: Vec<String>,
        /// The fewest.
        #[serde(default)]
        at_least: u64,
        /// The most.
        #[serde(default = "no_limit")]
        at_most: u64,
    },
    /// How often the host waits, by whichever call: one that synchronises, a blocking copy, `cuMemFree`, or a question whether something
    /// is over.
    HostWaits {
        /// The fewest.
        #[serde(default)]
        at_least: u64,
        /// The most.
        at_most: u64,
        /// Calls that do not count.
        #[serde(default)]
        but: Vec<String>,
    },
    /// Memory allocated in stream order is freed in stream order, and no more is held at once.
    Allocations {
        /// The most allocations at once.
        at_once: u64,
    },
    /// At its end, the program has given back all streams, device memory and page-locked memory.
    AllFreed,
    /// The work is divided among streams as in the goal, and handed over by events as there.
    Structure,
    /// The calls that enqueue copies return before the copies have ended.
    CopiesReturnEarly {
        /// The direction.
        engine: Engine,
    },
    /// So many streams have operations of an engine.
    Streams {
        /// The engine.
        engine: Engine,
        /// The fewest streams.
        at_least: usize,
    },
    /// A time that the program measured is that of a kernel.
    TimeOfKernel {
        /// Its name in the program.
        name: String,
        /// The kernel.
        kernel: String,
        /// By which share it may differ.
        tolerance: f64,
    },
    /// Short kernels end while a long one of another stream, which was launched before them, still has much of its time to go.
    EndsEarly {
        /// The short ones.
        kernel: String,
        /// The long one.
        beside: String,
        /// The last of the short ones ends within this share of the long one's time.
        share: f64,
    },
    /// The kernels that ran are the ones asked for.
    Kernels {
        /// The calls that must run.
        required: Vec<String>,
        /// The calls that must not run.
        #[serde(default)]
        forbidden: Vec<String>,
    },
    /// The answer to a question is right.
    Answer {
        /// The question's number, from 1.
        question: usize,
    },
}

fn one() -> u32 {
    1
}

fn no_limit() -> u64 {
    u64::MAX
}

/// The reference of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Yardstick {
    /// How long the busiest engine of the goal works: nothing that does this work is faster.
    Bound,
    /// The goal's time.
    Goal,
}

impl Catalogue {
    /// Reads the catalogue of the workspace that the command belongs to.
    ///
    /// # Errors
    /// It cannot be read, or contradicts itself.
    pub fn read(root: &Path) -> Result<Self> {
        let path = root.join("labs/labs.toml");
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut catalogue = Self::parse(&text).with_context(|| path.display().to_string())?;
        catalogue.root = root.to_owned();
        Ok(catalogue)
    }

    /// The catalogue that a text declares, of no workspace.
    ///
    /// # Errors
    /// It is not a catalogue, or contradicts itself.
    pub fn parse(text: &str) -> Result<Self> {
        let catalogue: Self = toml::from_str(text)?;
        catalogue.contradiction()?;
        Ok(catalogue)
    }

    fn contradiction(&self) -> Result<()> {
        for lab in &self.labs {
            for id in &lab.fails {
                if !lab.criteria.iter().any(|criterion| criterion.id == *id) {
                    bail!(
                        "labs.toml: {} fails with {id}, which is not one of its criteria",
                        lab.name
                    );
                }
            }
            for (place, criterion) in lab.criteria.iter().enumerate() {
                if lab.criteria[..place]
                    .iter()
                    .any(|other| other.id == criterion.id)
                {
                    bail!("labs.toml: {} has two criteria {}", lab.name, criterion.id);
                }
                if let Check::Answer { question } = criterion.check
                    && !(1..=lab.answers.len()).contains(&question)
                {
                    bail!(
                        "labs.toml: {} has no answer to question {question}",
                        lab.name
                    );
                }
            }
        }
        Ok(())
    }

    /// The lab of this name, number, or unique part of a name.
    ///
    /// # Errors
    /// [`UsageError`] when no lab or several labs match.
    pub fn find(&self, word: &str) -> Result<&Lab> {
        let word = word.rsplit('/').next().unwrap_or(word);
        let word = word.strip_suffix(".rs").unwrap_or(word);
        let number = |lab: &&Lab| {
            let (number, name) = lab.name.split_once('_').unwrap_or(("", &lab.name));
            lab.name == word
                || name == word
                || (number.parse::<u32>().ok() == word.parse().ok() && word.parse::<u32>().is_ok())
        };
        if let Some(lab) = self.labs.iter().find(number) {
            return Ok(lab);
        }
        let similar: Vec<&Lab> = self
            .labs
            .iter()
            .filter(|lab| lab.name.contains(word))
            .collect();
        match similar[..] {
            [lab] => Ok(lab),
            [] => bail!(UsageError(format!(
                "there is no lab {word}; `cargo lab list` shows all"
            ))),
            _ => {
                let names: Vec<&str> = similar.iter().map(|lab| lab.name.as_str()).collect();
                bail!(UsageError(format!(
                    "{word} may mean {}",
                    names.join(" or ")
                )))
            }
        }
    }
}

impl Lab {
    /// The file's name in `exercises` and `solutions`.
    pub fn file(&self) -> String {
        match self.kind {
            Kind::Explain => format!("{}.txt", self.name),
            _ => format!("{}.rs", self.name),
        }
    }

    /// The student's file.
    pub fn exercise(&self, root: &Path) -> PathBuf {
        root.join("labs/exercises").join(self.file())
    }

    /// Its solution, which a student's copy of the workspace does not have.
    pub fn solution(&self, root: &Path) -> PathBuf {
        root.join("labs/solutions").join(self.file())
    }

    /// The program that runs a student's kernel, or that questions are about.
    pub fn host(&self, root: &Path) -> PathBuf {
        let folder = root.join("labs/hosts");
        folder.join(&self.name).with_extension("rs")
    }

    /// The goal: what the solution did on the software GPU.
    pub fn goal(&self, root: &Path) -> PathBuf {
        root.join("labs/goals")
            .join(&self.name)
            .with_extension("json")
    }

    /// Whether something is judged on a GPU that CUPTI would delay.
    pub fn is_timed_on_a_gpu(&self) -> bool {
        let mut checks = self.criteria.iter().map(|criterion| &criterion.check);
        checks.any(|check| match check {
            Check::Within { nvidia, .. } => nvidia.is_some(),
            Check::TimeOfKernel { .. } => true,
            _ => false,
        })
    }

    /// All points that there are.
    pub fn points(&self) -> u32 {
        self.criteria.iter().map(|criterion| criterion.points).sum()
    }
}

/// The workspace's folder: what `LABS_ROOT` says, where cargo has been started, or where the command was built.
pub fn root() -> PathBuf {
    if let Some(root) = std::env::var_os("LABS_ROOT") {
        return root.into();
    }
    let built = Path::new(env!("CARGO_MANIFEST_DIR"));
    let run = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let own = run.unwrap_or_else(|| built.to_owned());
    own.join("../..").canonicalize().unwrap_or(own)
}
