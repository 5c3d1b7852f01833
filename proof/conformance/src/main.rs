//! `conformance`: checks the rules on the device that `CUDA_DRIVER` selects.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use conformance::rule::Rule;
use conformance::summary::Summary;
use conformance::supervisor::Supervisor;
use conformance::{device, rules, worker};
use libcuda::SelectError;

/// Check rules of the CUDA driver API on the device that CUDA_DRIVER selects: software (the default), nvidia or auto.
///
/// Exit codes: 0 every rule that the device allows to check holds, 1 a rule is broken or skipped unexpectedly, 2 bad
/// usage, 3 the device is not available.
#[derive(Parser)]
#[command(version, max_term_width = 80)]
struct ConformanceOptions {
    #[command(subcommand)]
    command: Option<Task>,
    /// Check only rules with this text in their family::name or sentence
    #[arg(long, global = true)]
    filter: Option<String>,
    /// Check only rules of this family
    #[arg(long, global = true)]
    family: Option<String>,
    /// The number of rules to check at a time; a rule that fails is checked again alone
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Show what the driver writes to standard error
    #[arg(long)]
    verbose: bool,
}

#[derive(Subcommand)]
enum Task {
    /// Print the rules and their sources
    List,
    /// Check the named rules and report in the format that the supervising process reads
    #[command(hide = true)]
    Work { rules: Vec<String> },
}

const BROKEN: u8 = 1;
const BAD_USAGE: u8 = 2;
const NO_DEVICE: u8 = 3;

fn main() -> ExitCode {
    let options = ConformanceOptions::parse();
    match run(&options) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(BROKEN)
        }
    }
}

fn run(options: &ConformanceOptions) -> Result<ExitCode> {
    let chosen = chosen(options);
    match &options.command {
        Some(Task::Work { rules }) => work(rules),
        _ if chosen.is_empty() => {
            eprintln!("error: no rule matches; `conformance list` prints all rules");
            Ok(ExitCode::from(BAD_USAGE))
        }
        Some(Task::List) => {
            list(&chosen);
            Ok(ExitCode::SUCCESS)
        }
        None => try_rules(options, &chosen),
    }
}

fn chosen(options: &ConformanceOptions) -> Vec<&'static Rule> {
    let family = |rule: &&Rule| {
        options
            .family
            .as_deref()
            .is_none_or(|family| rule.family == family)
    };
    let word = |rule: &&Rule| {
        let contains = |word| rule.path().contains(word) || rule.statement.contains(word);
        options.filter.as_deref().is_none_or(contains)
    };
    rules::all().filter(family).filter(word).collect()
}

fn list(rules: &[&Rule]) {
    for rule in rules {
        line(format!(
            "{}\n    {}\n    [{}]",
            rule.path(),
            rule.statement,
            rule.source
        ));
    }
    line(format!("{} rules", rules.len()));
}

fn work(paths: &[String]) -> Result<ExitCode> {
    device::select()?;
    worker::work(
        paths.iter().filter_map(|path| rules::find(path)),
        io::stdout().lock(),
    )?;
    Ok(ExitCode::SUCCESS)
}

fn try_rules(options: &ConformanceOptions, chosen: &[&'static Rule]) -> Result<ExitCode> {
    let device = match device::select() {
        Ok(selected) => format!("{} ({})", selected.driver, selected.reason),
        Err(error) => {
            eprintln!("error: {error}");
            return Ok(ExitCode::from(match error {
                SelectError::Environment(_) | SelectError::Misconfigured(_) => BAD_USAGE,
                _ => NO_DEVICE,
            }));
        }
    };
    line(format!("{} rules on {device}", chosen.len()));
    let program = std::env::current_exe().context("find this program")?;
    let supervisor = Supervisor {
        program: &program,
        verbose: options.verbose,
    };
    let mut summary = Summary::default();
    supervisor
        .run_beside(options.jobs.into(), chosen, |rule, verdict| {
            line(summary.add(rule, verdict))
        })
        .context("start a worker")?;
    line(&summary);
    Ok(match summary.is_good() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(BROKEN),
    })
}

/// Writes a line and ignores a closed output: the exit code is the same.
fn line(text: impl Display) {
    let _ = writeln!(io::stdout(), "{text}");
}
