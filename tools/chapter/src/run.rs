//! `run`: runs examples, keeps their results in a folder, and gives a verdict on each part.

mod artefacts;
mod process;
mod progress;
mod tally;
mod verdict;

use crate::check::{self, ExpectationsArguments};
use crate::doctor::tools;
use crate::folder::{NewFolder, Skipped, Summary, TargetSummary, VERSION};
use crate::program::DeviceOptions;
use crate::selection::{self, Selected};
use crate::targets::Targets;
use anyhow::{Result, anyhow};
use chapter_results::Results;
use chapter_results::description::Availability;
use chapter_results::device::TimeSource;
use chapter_terminal::UsageError;
use chapter_terminal::exit::{Exit, complain};
use chapter_terminal::wrap;
use clap::ValueEnum;
use process::{Ended, ProcessRequest};
use progress::Progress;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;
use tally::Tally;
use verdict::Outcome;

/// The runs, and the files that are kept.
#[derive(clap::Args)]
pub struct RunArguments {
    /// The targets or parts to run; all of them by default
    #[arg(value_name = "TARGET[:PART]")]
    targets: Vec<String>,

    #[command(flatten)]
    device: DeviceOptions,

    /// What to keep besides the results
    #[arg(long, value_enum, default_value_t = Depth::None)]
    profile: Depth,

    /// Timed runs of each variant, for the parts that use this option
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    iterations: Option<u32>,

    /// What the software GPU's checkers do with what they find [default: $SOFTWARE_GPU_RACES, else report]
    #[arg(long, value_name = "off|report|fail", value_parser = ["off", "report", "fail"], hide_possible_values = true)]
    races: Option<String>,

    /// Give the software GPU as much data as a GPU gets, to compare the two: takes minutes
    #[arg(long)]
    gpu_sizes: bool,

    /// Where to write the results, replacing those of an earlier run; by default `chapter` in cargo's target folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,

    #[command(flatten)]
    expectations: ExpectationsArguments,

    /// Build the examples in release mode
    #[arg(long)]
    release: bool,
}

/// Files kept besides the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Depth {
    /// Nothing
    None,
    /// The timelines, as a page and for Perfetto; on an NVIDIA GPU also a report of Nsight Systems, if it is installed
    Minimal,
    /// Also pictures of the timelines, the examples' output, and the Nsight report as SQLite
    Deep,
}

/// Runs it.
pub fn run(arguments: &RunArguments) -> Result<Exit> {
    let targets = Targets::find()?;
    let out = arguments.out.clone().unwrap_or_else(|| targets.results());
    let folder = NewFolder::create("--out", out)?;
    let device = &arguments.device;
    let selected = selection::select(&targets, &arguments.targets, device, arguments.release)?;
    check_iterations(arguments, &selected)?;
    let device = match selected.first().map(|one| &one.description.device) {
        Some(Availability::Present { introduction, .. }) => introduction.clone(),
        Some(Availability::Absent { reason }) => {
            complain(&anyhow!("{reason}"));
            return Ok(Exit::DeviceLacks);
        }
        None => return Err(UsageError("no targets".to_owned()).into()),
    };
    let start = Instant::now();
    let mut run = RunInProgress {
        progress: Progress::new(selected.iter().map(|one| one.parts().count()).sum()),
        arguments,
        folder,
        done: 0,
        tally: Tally::default(),
        results: Vec::new(),
    };
    run.progress.line(&device, 0);
    let mut summaries = Vec::new();
    for one in &selected {
        summaries.push(run.target(one)?);
    }
    run.progress.end();
    let (tally, results) = (run.tally, run.results);
    let place = run.folder.finish(&Summary {
        version: VERSION,
        profile: arguments
            .profile
            .to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned()),
        device,
        targets: summaries,
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let end = format!(
        "\n{tally}, in {seconds:.1} s. Results in {}.",
        place.display()
    );
    wrap::print(end, 0);
    let expected = check::judge(&results, &arguments.expectations, || targets.expectations())?;
    Ok(match tally.exit() {
        Exit::LessonHolds => expected,
        worse => worse,
    })
}

/// Refuses `--iterations` when a part selected by name, or every part, would ignore it.
fn check_iterations(arguments: &RunArguments, selected: &[Selected]) -> Result<(), UsageError> {
    if arguments.iterations.is_none() {
        return Ok(());
    }
    let ignoring = |one: &&Selected| {
        !one.named.parts.is_empty() && !one.parts().all(|part| part.uses_iterations())
    };
    let who = if let Some(one) = selected.iter().find(ignoring) {
        format!("a selected part of {} does", one.program.name)
    } else if selected
        .iter()
        .all(|one| !one.parts().any(|part| part.uses_iterations()))
    {
        "the selected parts do".to_owned()
    } else {
        return Ok(());
    };
    Err(UsageError(format!(
        "--iterations: {who} not use it; `cargo chapter list` shows which parts do"
    )))
}

/// A run in progress.
struct RunInProgress<'a> {
    arguments: &'a RunArguments,
    folder: NewFolder,
    progress: Progress,
    /// Parts that have been dealt with.
    done: usize,
    tally: Tally,
    /// The results of the targets that wrote some.
    results: Vec<Results>,
}

impl RunInProgress<'_> {
    /// Runs one target, without the parts whose needs the device does not meet.
    fn target(&mut self, one: &Selected) -> Result<TargetSummary> {
        let (able, unable): (Vec<_>, Vec<_>) =
            one.parts().partition(|part| part.lacking().is_empty());
        let skipped = unable.iter().map(|part| Skipped {
            part: part.name.clone(),
            lacking: part.lacking().join(", "),
        });
        let skipped: Vec<Skipped> = skipped.collect();
        let mut summary = TargetSummary {
            name: one.program.name.clone(),
            exit_code: None,
            seconds: 0.0,
            error: None,
            skipped,
        };
        if !able.is_empty() {
            let whole = able.len() == one.description.parts.len();
            let names = able.iter().map(|part| part.name.as_str());
            let order = ProcessRequest {
                device: &self.arguments.device,
                parts: if whole { Vec::new() } else { names.collect() },
                iterations: self
                    .arguments
                    .iterations
                    .filter(|_| able.iter().any(|part| part.uses_iterations())),
                gpu_sizes: self.arguments.gpu_sizes,
                races: self.arguments.races.as_deref(),
            };
            let ended = self.start(one, &order)?;
            summary.exit_code = ended.status.code();
            summary.seconds = ended.time.as_secs_f64();
            let results = self.results(one, &ended);
            self.keep(one, &order, &ended, results.as_ref().ok())?;
            match results {
                Ok(results) => self.results.push(results),
                Err(why) => summary.error = Some(why),
            }
        }
        for part in &summary.skipped {
            let outcome = Outcome::Skipped(format!("the device lacks {}", part.lacking));
            self.tell(&format!("{}:{}", summary.name, part.part), &outcome);
            self.tally.named_skipped |= !one.named.parts.is_empty();
        }
        self.done += one.parts().count();
        Ok(summary)
    }

    fn start(&self, one: &Selected, order: &ProcessRequest) -> Result<Ended> {
        let name = &one.program.name;
        let headings: Vec<String> = one
            .parts()
            .map(|part| format!("{}: {}", part.name, part.question))
            .collect();
        let json = self.folder.place().join(format!("{name}.json"));
        self.progress.begin(self.done, name);
        let mut begun = 0;
        process::run(&one.program, order, &json, |line| {
            if let Some(part) = headings.iter().position(|heading| heading == line) {
                self.progress
                    .begin(self.done + begun, &format!("{name}:{}", headings[part]));
                begun += 1;
            }
        })
    }

    /// Keeps what the profile says.
    fn keep(
        &self,
        one: &Selected,
        order: &ProcessRequest,
        ended: &Ended,
        results: Option<&Results>,
    ) -> Result<()> {
        let (folder, name) = (self.folder.place(), &one.program.name);
        let deep = self.arguments.profile == Depth::Deep;
        if self.arguments.profile == Depth::None {
            return Ok(());
        }
        if deep {
            artefacts::text(&folder, name, ended)?;
        }
        let Some(results) = results else {
            return Ok(());
        };
        artefacts::timelines(&folder, results)?;
        if deep {
            artefacts::pictures(&folder, results)?;
        }
        let Some(nsys) = tools::tool("nsys").filter(|_| results.times == TimeSource::Measured)
        else {
            return Ok(());
        };
        self.progress
            .begin(self.done, &format!("{name}, watched by nsys"));
        if let Some(why) = artefacts::nsys(&nsys, &folder, &one.program, order, deep)? {
            self.progress
                .line(&format!("{name}: no report of Nsight Systems: {why}"), 4);
        }
        Ok(())
    }

    /// The results of a target, after telling how its parts ended; without results, the reason.
    fn results(&mut self, one: &Selected, ended: &Ended) -> Result<Results, String> {
        let name = &one.program.name;
        let file = self.folder.place().join(format!("{name}.json"));
        let results = match Results::read(&file) {
            Ok(results) => results,
            Err(error) => {
                // Files that are not results must not lie among them.
                let why = match fs::remove_file(&file) {
                    Ok(()) => error.to_string(),
                    Err(_) => ended.complaint(),
                };
                let outcome = self.without_results(ended, why.clone());
                self.tell(name, &outcome);
                return Err(why);
            }
        };
        for part in &results.parts {
            self.tell(&format!("{name}:{}", part.name), &Outcome::of(part));
        }
        if let Some(first) = results.reports.first() {
            let first = first.lines().next().unwrap_or_default();
            let why = match results.reports.len() {
                1 => format!("1 report of the checkers: {first}"),
                more => format!("{more} reports of the checkers, the first: {first}"),
            };
            self.tell(name, &Outcome::Broken(why));
        }
        let explained = i32::from(!results.holds);
        if ended.status.code() != Some(explained) {
            let why = format!("{}, which contradicts its results", ended.complaint());
            self.tell(name, &Outcome::Broken(why.clone()));
            return Err(why);
        }
        Ok(results)
    }

    /// The outcome of a target that wrote no results.
    fn without_results(&mut self, ended: &Ended, why: String) -> Outcome {
        match ended.status.code() {
            Some(code) if code == Exit::DeviceLacks as i32 => {
                self.tally.named_skipped = true;
                Outcome::Skipped(why)
            }
            code => {
                self.tally.usage |= code == Some(Exit::Usage as i32);
                Outcome::Broken(why)
            }
        }
    }

    fn tell(&mut self, name: &str, outcome: &Outcome) {
        self.tally.count(outcome);
        self.progress.line(&format!("{name:44} {outcome}"), 4);
    }
}
