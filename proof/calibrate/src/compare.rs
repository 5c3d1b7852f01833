//! Modelled against measured: the same program's results on the software GPU and on a GPU, side by side.

mod comparison;
#[cfg(test)]
mod tests;
mod text;

use anyhow::Result;
use comparison::Comparison;
use examples_host::options::UsageError;
use examples_host::output;
use examples_host::results::{Kind, Request, Results};
use std::path::{Path, PathBuf};

/// What is compared.
#[derive(clap::Args)]
pub struct CompareOptions {
    /// What was measured, one file for each time: `--json` of an example on a GPU
    #[arg(required = true, value_name = "MEASURED.json")]
    measured: Vec<PathBuf>,

    /// What was modelled: `--json` of the same example on the software GPU, with --gpu-sizes and otherwise the same options
    #[arg(long, value_name = "FILE.json")]
    modelled: PathBuf,

    /// A part that is shown and not judged; may be given several times
    #[arg(long, value_name = "PART")]
    not_judged: Vec<String>,

    /// Print the table as Markdown
    #[arg(long)]
    markdown: bool,
}

/// Prints the comparison, and returns whether the model is right.
pub fn run(arguments: &CompareOptions) -> Result<bool> {
    let modelled = read(&arguments.modelled, true)?;
    let measured: Result<Vec<Medians>> = arguments
        .measured
        .iter()
        .map(|path| read(path, false))
        .collect();
    let mut comparison = Comparison::new(&measured?, &modelled)?;
    comparison.leave_unjudged(&arguments.not_judged)?;
    output::line(comparison.text(arguments.markdown).trim_end());
    Ok(comparison.holds())
}

/// Longer is no median of a run, in µs.
const LONGEST_US: f64 = 1e12;

/// The compared parts of a file.
struct Medians {
    /// The options that change the work.
    options: [Option<u64>; 4],
    timed: Vec<ComparedTime>,
}

/// One thing that was timed.
struct ComparedTime {
    part: String,
    group: String,
    variant: String,
    kind: Kind,
    median_us: f64,
    /// The distance between the quartiles as a share of the median.
    spread: f64,
    /// The program does not claim it of the model.
    unclaimed: bool,
}

impl Medians {
    fn of(results: &Results) -> Self {
        let timed = results.timed().map(|(part, timed)| ComparedTime {
            part: part.to_owned(),
            group: timed.group.text.clone(),
            variant: timed.variant.text.clone(),
            kind: timed.kind,
            median_us: timed.median_us(),
            spread: timed.spread(),
            unclaimed: timed.unclaimed,
        });
        let Request {
            size,
            chunks,
            streams,
            rounds,
            ..
        } = results.request;
        Self {
            options: [size, chunks, streams, rounds.map(u64::from)],
            timed: timed.collect(),
        }
    }
}

fn read(path: &Path, modelled: bool) -> Result<Medians> {
    let usage = |why: String| UsageError(format!("{}: {why}", path.display()));
    let results = Results::read(path).map_err(|error| UsageError(error.to_string()))?;
    if results.are_modelled() != modelled {
        return Err(usage(format!("these results are {}", results.times)).into());
    }
    if modelled && !results.request.gpu_sizes {
        let why = "the model worked on less data than a GPU; run it with --gpu-sizes";
        return Err(usage(why.to_owned()).into());
    }
    let medians = Medians::of(&results);
    if medians.timed.is_empty() {
        return Err(usage("there are no results in it".to_owned()).into());
    }
    for timed in &medians.timed {
        let time = timed.median_us;
        if !(time > 0.0 && time < LONGEST_US) {
            let (part, variant) = (&timed.part, &timed.variant);
            return Err(usage(format!("{part}: {variant}: {time} µs is not a valid time")).into());
        }
    }
    Ok(medians)
}
