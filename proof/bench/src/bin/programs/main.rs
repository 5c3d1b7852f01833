//! The example programs compared with the same programs in CUDA C++ (`proof/bench/cuda/programs`), alternating on one machine.
//!
//! Each round runs a part of an example, then its twin, which gets the same sizes and iterations and, where the part
//! chooses something by measuring, that choice. Both write the median of each variant; a round's two medians make a
//! ratio, and the median of the rounds' ratios is judged. Exit code 1 when one is above [`LIMIT`](bench::LIMIT). The
//! examples run with `CUPTI=off`, so that both sides take their times from events.

mod case;
mod results;
mod row;

use anyhow::{Context as _, Result, ensure};
use case::ExamplePart;
use chapter_results::Results;
use clap::Parser;
use results::Timed;
use row::VariantRow;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// Compare the times of example programs in Rust with those of their twins in CUDA C++
#[derive(Parser)]
#[command(max_term_width = 80)]
struct CommandLine {
    /// The folder with the example programs
    examples: PathBuf,

    /// The folder with the programs compiled from proof/bench/cuda/programs, under the same names
    twins: PathBuf,

    /// The modules compiled from proof/bench/cuda/kernels, for the twins
    #[arg(required = true)]
    modules: Vec<PathBuf>,

    /// The number of runs of each program
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// Only the parts with this name
    #[arg(long)]
    part: Option<String>,

    /// Only check, once and with little data, that both do the same work with correct results; runs on the device that
    /// CUDA_DRIVER selects
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    match compare(&CommandLine::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn compare(arguments: &CommandLine) -> Result<ExitCode> {
    let wanted = |case: &&ExamplePart| arguments.part.as_deref().is_none_or(|p| p == case.part);
    let cases: Vec<&ExamplePart> = case::ALL.iter().filter(wanted).collect();
    ensure!(
        !cases.is_empty(),
        "no part is called {}; there are: {}",
        arguments.part.as_deref().unwrap_or_default(),
        case::ALL.map(|case| case.part).join(", ")
    );
    let folder = tempfile::tempdir().context("cannot create a folder for the results")?;
    let rounds = if arguments.check { 1 } else { arguments.rounds };
    let mut rows: Vec<Vec<VariantRow>> = cases.iter().map(|_| Vec::new()).collect();
    let started = Instant::now();
    for _ in 0..rounds {
        for (case, rows) in cases.iter().zip(&mut rows) {
            let example = run_example(arguments, case, folder.path())
                .with_context(|| format!("{}, part {}", case.program, case.part))?;
            let twin = run_twin(arguments, case, folder.path(), &example)
                .with_context(|| format!("the twin of {}, part {}", case.program, case.part))?;
            row::add(rows, &example, &twin)
                .with_context(|| format!("{}, part {}", case.program, case.part))?;
        }
    }
    let rows: Vec<VariantRow> = rows.into_iter().flatten().collect();
    let seconds = started.elapsed().as_secs_f64();
    if arguments.check {
        println!(
            "{}\n{} variants do the same work in both languages, with correct results; ratios are not judged",
            row::table(&rows),
            rows.len()
        );
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "{rounds} runs of each program, alternating, in {seconds:.0} s; medians of the programs' medians, their range, and \
         the median of the rounds' ratios (measured)\n{}",
        row::table(&rows)
    );
    Ok(bench::verdict(rows.len(), &row::above(&rows)))
}

/// The example's results. A lesson that does not hold (exit code 1) is reported and compared all the same.
fn run_example(arguments: &CommandLine, case: &ExamplePart, folder: &Path) -> Result<Vec<Timed>> {
    let json = folder.join("example.json");
    let mut command = Command::new(arguments.examples.join(case.program));
    command
        .args(["--part", case.part, "--json"])
        .arg(&json)
        .args(case.options(arguments.check))
        .env("CUPTI", "off");
    if !arguments.check {
        command.args(["--device", "nvidia"]);
    }
    let (code, said) = finished(command)?;
    let lesson = matches!(code, Some(0 | 1)) && json.exists();
    ensure!(lesson, "exit code {code:?}: {said}");
    let results = Results::read(&json)?;
    std::fs::remove_file(&json)?;
    for claim in results.parts.iter().flat_map(|part| &part.claims) {
        if !claim.counts_as_holding() {
            eprintln!("{}, part {}: {claim}", case.program, case.part);
        }
    }
    results::of_example(&results)
}

fn run_twin(
    arguments: &CommandLine,
    case: &ExamplePart,
    folder: &Path,
    example: &[Timed],
) -> Result<Vec<Timed>> {
    let json = folder.join("twin.json");
    let mut command = Command::new(arguments.twins.join(case.program));
    command
        .args(["--part", case.part, "--json"])
        .arg(&json)
        .args(case.options(arguments.check))
        .args(case.choices(example)?)
        .args(&arguments.modules);
    let (code, said) = finished(command)?;
    ensure!(code == Some(0), "exit code {code:?}: {said}");
    let text =
        std::fs::read_to_string(&json).with_context(|| format!("read {}", json.display()))?;
    results::of_twin(&text)
}

/// A command's exit code, and all that it said.
fn finished(mut command: Command) -> Result<(Option<i32>, String)> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("start {}", command.get_program().display()))?;
    let said = [output.stdout, output.stderr].concat();
    Ok((
        output.status.code(),
        String::from_utf8_lossy(&said).into_owned(),
    ))
}
