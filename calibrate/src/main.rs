//! Measures a GPU and writes the profile that the software GPU models it with.
//!
//! `calibrate --out my.toml` takes under a minute. On the software GPU (`--device software`) it measures the model and
//! must find the model's own figures: that is its test.

mod attributes;
mod file;
mod findings;
mod gpu;
mod handovers;
mod host_calls;
mod kernels;
mod memory;
mod multiprocessors;
mod stopwatch;
mod transfers;

use anyhow::Result;
use clap::Parser;
use examples_host::device::{Device, TimeSource};
use examples_host::exit::{Exit, complain};
use examples_host::options::UsageError;
use examples_host::table::Table;
use findings::Findings;
use kernels::Kernels;
use libcuda::Choice;
use software_gpu::timeline::Profile;
use std::path::PathBuf;
use std::process::ExitCode;
use stopwatch::Stopwatch;

/// Measures a GPU and writes the profile that the software GPU models it with
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The device to measure. Without the option, the environment variable CUDA_DRIVER says it
    #[arg(long, value_name = "auto|nvidia|software")]
    device: Option<Choice>,

    /// With the software GPU: the GPU that it models, a name or the path of a profile file
    #[arg(long, value_name = "NAME|FILE.toml")]
    gpu: Option<String>,

    /// The profile to compare with, which also gives what cannot be measured
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "h200")]
    base: String,

    /// Write the profile to this file
    #[arg(long, value_name = "FILE.toml")]
    out: Option<PathBuf>,

    /// Overwrite the file
    #[arg(long)]
    force: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match calibrate(&arguments) {
        Ok(()) => Exit::LessonHolds,
        Err(error) => {
            complain(&error);
            Exit::of(&error)
        }
    }
    .into()
}

fn calibrate(arguments: &Arguments) -> Result<()> {
    let base = Profile::table(&arguments.base).map_err(|error| UsageError(error.to_string()))?;
    if let Some(path) = &arguments.out {
        file::may_write(path, arguments.force).map_err(|error| UsageError(format!("{error:#}")))?;
    }
    let choice = arguments.device.map_or_else(Choice::from_environment, Ok)?;
    let device = Device::open_modelled(choice, arguments.gpu.as_deref())?;
    println!("{}", device.introduction());
    let mut findings = Findings::new(base);
    let read = attributes::read(&device, findings.base())?;
    measure(&mut findings)?;
    println!("\n{}", table(&findings, device.times()));
    if let Some(path) = &arguments.out {
        let about = format!(
            "{}, {} by calibrate; what it cannot find is an estimate from the profile {}.",
            device.name(),
            device.times(),
            arguments.base
        );
        file::write(path, &file::text(&read, &findings, &about)?)?;
        println!("\nProfile written to {}.", path.display());
    }
    Ok(())
}

fn measure(findings: &mut Findings) -> Result<()> {
    let watch = Stopwatch::new()?;
    let mut kernels = Kernels::load()?;
    transfers::measure(findings, &watch)?;
    handovers::measure(findings, &mut kernels, &watch)?;
    host_calls::measure(findings, &kernels)?;
    multiprocessors::measure(findings, &kernels, &watch)?;
    memory::measure(findings, &watch)
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
        table.row([
            format!("{section}.{name}"),
            file::rounded(found.value).to_string(),
            base.to_string(),
            difference,
        ]);
    }
    table
}
