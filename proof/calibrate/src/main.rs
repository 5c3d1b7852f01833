//! Measures a GPU and writes the profile that the software GPU models it with.
//!
//! `calibrate --out my.toml` takes under a minute. On the software GPU (`--device software`) it measures the model and
//! must find the model's own figures: that is its test.

mod attributes;
mod chains;
mod compare;
mod contention;
mod file;
mod findings;
mod gpu;
mod graphs;
mod handovers;
mod host_calls;
mod kernels;
mod l2;
mod latencies;
mod memory;
mod multiprocessors;
mod stopwatch;
mod transfers;

use anyhow::Result;
use clap::{Parser, Subcommand};
use examples_host::device::{Device, TimeSource};
use examples_host::exit::{self, Exit, complain};
use examples_host::new_file::NewFile;
use examples_host::options::UsageError;
use examples_host::output;
use examples_host::table::Table;
use findings::Findings;
use kernels::LoadedKernels;
use libcuda::Choice;
use software_gpu::timeline::Profile;
use std::path::PathBuf;
use std::process::ExitCode;
use stopwatch::Stopwatch;

/// Measure a GPU and write its profile for the software GPU
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true, max_term_width = 80)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    /// The driver of the device to measure [default: $CUDA_DRIVER, else auto]
    #[arg(long, value_name = "auto|nvidia|software")]
    device: Option<Choice>,

    /// The GPU that the software GPU models: a name or a profile file
    #[arg(long, value_name = "NAME|FILE.toml")]
    gpu: Option<String>,

    /// The profile to compare with; it also supplies the figures that cannot be measured
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "h200")]
    base: String,

    /// Write the profile to this file
    #[arg(long, value_name = "FILE.toml")]
    out: Option<PathBuf>,

    /// Overwrite an existing file
    #[arg(long)]
    force: bool,

    /// Also show how much copies and kernels slow each other down
    #[arg(long)]
    contention: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Compare a program's times on a GPU with its times on the software GPU
    Compare(compare::CompareOptions),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.command {
        Some(Command::Compare(arguments)) => compare::run(arguments),
        None => calibrate(&arguments).map(|()| true),
    };
    match done {
        Ok(true) => Exit::LessonHolds,
        Ok(false) => Exit::LessonFails,
        Err(error) => {
            complain(&error);
            exit::of(&error)
        }
    }
    .into()
}

fn calibrate(arguments: &Arguments) -> Result<()> {
    let base = Profile::table(&arguments.base).map_err(|error| UsageError(error.to_string()))?;
    let out = arguments
        .out
        .clone()
        .map(|path| out(path, arguments.force))
        .transpose()?;
    let choice = arguments.device.map_or_else(Choice::from_environment, Ok)?;
    let device = Device::open_modelled(choice, arguments.gpu.as_deref())?;
    output::line(device.introduction());
    let mut findings = Findings::new(base);
    let read = attributes::read(&device, findings.base())?;
    let (kernels, watch) = measure(&mut findings, &device)?;
    output::line(format!("\n{}", table(&findings, device.times())));
    if arguments.contention {
        output::line(format!("\n{}", contention::measure(&kernels, &watch)?));
    }
    if let Some(out) = out {
        let about = format!(
            "{}, {} by calibrate; what it cannot find is an estimate from the profile {}.",
            device.name(),
            device.times(),
            arguments.base
        );
        let text = file::text(&read, &findings, &about)?;
        let path = out.write(|file| Ok(file.write_all(text.as_bytes())?))?;
        output::line(format!("\nProfile written to {}.", path.display()));
    }
    Ok(())
}

/// The file to be: one that is there already is not lightly replaced.
fn out(path: PathBuf, force: bool) -> Result<NewFile, UsageError> {
    let shown = path.display().to_string();
    let file = NewFile::create("--out", path)?;
    if file.exists() && !force {
        return Err(UsageError(format!(
            "--out {shown} exists: choose another name, or say --force"
        )));
    }
    Ok(file)
}

fn measure(findings: &mut Findings, device: &Device) -> Result<(LoadedKernels, Stopwatch)> {
    let watch = Stopwatch::new()?;
    let mut kernels = LoadedKernels::load()?;
    transfers::measure(findings, &watch)?;
    handovers::measure(findings, &mut kernels, &watch)?;
    host_calls::measure(findings, device, &kernels)?;
    graphs::measure(findings, &kernels, &watch)?;
    multiprocessors::measure(findings, &kernels, &watch)?;
    memory::measure(findings, &watch)?;
    l2::measure(findings, &watch)?;
    latencies::measure(findings, &watch)?;
    Ok((kernels, watch))
}

/// Each figure that was found beside the base's.
fn table(findings: &Findings, times: TimeSource) -> Table {
    let mut table = Table::new([
        "figure",
        &times.to_string(),
        "current profile",
        "difference",
    ]);
    for (section, name, found) in findings.all() {
        let base = findings.of_base(section, name).unwrap_or(f64::NAN);
        let difference = match base {
            0.0 => "-".to_owned(),
            base => format!("{:+.1} %", (found.value / base - 1.0) * 100.0),
        };
        let difference = match found.from {
            findings::SHOWN => format!("{difference}, not written"),
            _ => difference,
        };
        table.row([
            format!("{section}.{name}"),
            file::rounded(found.value).to_string(),
            base.to_string(),
            difference,
        ]);
    }
    table
}
