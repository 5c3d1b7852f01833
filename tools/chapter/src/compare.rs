//! `compare`: times as one table, of the variants of one run, or of two runs side by side.

mod model;
mod pair;
pub(crate) mod single;

use crate::expectations;
use crate::folder;
use crate::targets::Targets;
use anyhow::Result;
use chapter_results::Results;
use chapter_results::label::Label;
use chapter_results::part::{PartResults, Timed};
use chapter_terminal::Exit;
use chapter_terminal::UsageError;
use chapter_terminal::output;
use chapter_terminal::style;
use std::path::{Path, PathBuf};

/// What is compared.
#[derive(clap::Args)]
pub struct CompareArguments {
    /// Result folders of `run`, or files written by an example's `--json`; by default the last run. Two that hold the same
    /// target are shown side by side, others in one table
    #[arg(value_name = "FOLDER|FILE.json")]
    paths: Vec<PathBuf>,

    /// Compare a model with its device: the folder of a GPU's expectations, beside results of `run --device software
    /// --gpu-sizes`. The exit code is 1 if a time that the model claims is too far off, if it ranks variants
    /// otherwise, or if a part was not compared
    #[arg(long, value_name = "EXPECTATIONS/DEVICE")]
    measured: Option<PathBuf>,

    /// With --measured: a part whose figures were not used to fit the model; may be given several times
    #[arg(long, value_name = "TARGET:PART", requires = "measured")]
    held_out: Vec<String>,

    /// With --measured: print Markdown
    #[arg(long, requires = "measured")]
    markdown: bool,
}

/// Results, and where they were read from.
struct Set {
    path: PathBuf,
    results: Vec<Results>,
}

/// Compares it.
pub fn run(arguments: &CompareArguments) -> Result<Exit> {
    let mut paths = arguments.paths.clone();
    if paths.is_empty() {
        paths.push(Targets::find()?.results());
    }
    if let Some(measured) = &arguments.measured {
        return compare_with_device(arguments, measured, &paths);
    }
    let read = |path: &PathBuf| {
        Ok(Set {
            path: path.clone(),
            results: read(path)?,
        })
    };
    let sets: Vec<Set> = paths.iter().map(read).collect::<Result<_, UsageError>>()?;
    if let [first, second] = &sets[..]
        && first.results.iter().any(|one| has(second, &one.example))
    {
        output::line(pair::table(first, second, output::columns()));
        return Ok(Exit::LessonHolds);
    }
    for (place, set) in sets.iter().enumerate() {
        for one in &set.results {
            if let Some(earlier) = sets[..place].iter().find(|set| has(set, &one.example)) {
                return Err(UsageError(format!(
                    "{} and {} both hold {}; compare two at a time",
                    earlier.path.display(),
                    set.path.display(),
                    one.example
                ))
                .into());
            }
        }
    }
    let all: Vec<&Results> = sets.iter().flat_map(|set| &set.results).collect();
    output::line(single::table(&all, output::columns()));
    Ok(Exit::LessonHolds)
}

/// A model and its device.
fn compare_with_device(
    arguments: &CompareArguments,
    measured: &Path,
    modelled: &[PathBuf],
) -> Result<Exit> {
    let recorded = expectations::recorded(measured)?;
    let mut results = Vec::new();
    for path in modelled {
        results.extend(read(path)?);
    }
    if let Some(measured) = results.iter().find(|results| !results.are_modelled()) {
        let why = format!(
            "the results of {} are measured, not modelled",
            measured.example
        );
        return Err(UsageError(why).into());
    }
    let comparison = model::Comparison::new(&recorded, &results, &arguments.held_out);
    match arguments.markdown {
        true => output::line(comparison.markdown().trim_end()),
        false => output::line(comparison.text(output::columns()).trim_end()),
    }
    Ok(match comparison.holds() {
        true => Exit::LessonHolds,
        false => Exit::LessonFails,
    })
}

fn has(set: &Set, example: &str) -> bool {
    set.results.iter().any(|results| results.example == example)
}

/// The results in a folder that `run` left behind, or in a file.
///
/// # Errors
/// When it holds none.
pub(crate) fn read(path: &Path) -> Result<Vec<Results>, UsageError> {
    if path.is_dir() {
        return folder::read(path).map(|(_, results)| results);
    }
    let results = Results::read(path).map_err(|error| UsageError(error.to_string()))?;
    Ok(vec![results])
}

/// The verdict on a part.
fn verdict(holds: bool) -> String {
    match holds {
        true => style::good("ok"),
        false => style::bad("FAILED"),
    }
}

/// The groups of a part, in order, each with what was timed in it.
pub(crate) fn groups(part: &PartResults) -> Vec<(&Label, Vec<&Timed>)> {
    let mut groups: Vec<(&Label, Vec<&Timed>)> = Vec::new();
    for timed in &part.timed {
        match groups
            .iter_mut()
            .find(|(group, _)| group.id == timed.group.id)
        {
            Some((_, members)) => members.push(timed),
            None => groups.push((&timed.group, vec![timed])),
        }
    }
    groups
}

/// The median of what was timed, with a star where it is not claimed of the model.
fn median(timed: &Timed) -> String {
    let star = if timed.unclaimed { "*" } else { "" };
    format!("{}{star}", time(timed.median_us()))
}

/// What the star says, if a part of these results has one.
pub(crate) fn star_note<'a>(all: impl IntoIterator<Item = &'a Results>) -> Option<&'static str> {
    let mut parts = all.into_iter().flat_map(|results| &results.parts);
    parts
        .any(|part| part.timed.iter().any(|timed| timed.unclaimed))
        .then_some(STAR)
}

const STAR: &str = "*: not claimed of the model. With as much work as a GPU gets, the model missed the time of an H200 or an H100 by \
                    more than docs/software-gpu/accuracy.md allows.";

/// Microseconds as people read them.
fn time(us: f64) -> String {
    chapter_results::units::time(std::time::Duration::from_nanos((us * 1e3).round() as u64))
}

#[cfg(test)]
mod testing {
    use chapter_results::VERSION;
    use chapter_results::device::{Fingerprint, TimeSource};
    use chapter_results::part::{Bound, Kind, PartResults, Timed};
    use chapter_results::results::{Request, Results};

    /// The words of a table's line that begins with `name`.
    pub fn line<'a>(table: &'a str, name: &str) -> Vec<&'a str> {
        let line = table
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no line {name}: {table}"));
        line.split("  ")
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .collect()
    }

    /// Results of one part that times these variants of one group, each in some runs.
    pub fn results(times: TimeSource, timed: &[(&str, &[f64])]) -> Results {
        let timed = timed.iter().map(|(variant, samples)| Timed {
            group: ("variants", "16 MiB").into(),
            variant: (variant.replace(' ', "-"), *variant).into(),
            kind: Kind::Makespan,
            samples_us: samples.to_vec(),
            unclaimed: false,
        });
        Results {
            version: VERSION,
            example: "basic_streams".into(),
            device: Fingerprint {
                name: "NVIDIA H200".into(),
                ..Fingerprint::default()
            },
            times,
            request: Request::default(),
            parts: vec![PartResults {
                name: "three-way".into(),
                question: "How near?".into(),
                workload: "1f".into(),
                timed: timed.collect(),
                bounds: vec![Bound {
                    group: "variants".into(),
                    label: "duplex".into(),
                    us: 500.0,
                }],
                holds: true,
                ..PartResults::default()
            }],
            reports: vec![],
            holds: true,
        }
    }
}
