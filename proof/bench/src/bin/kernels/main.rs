//! The Rust kernels beside the same kernels compiled by `nvcc -O3`, in one run: `kernels [--check] TWINS..`.
//!
//! Each pair gets the same memory; first the results of one launch of each are compared, then both are timed alternately.
//! Exit code 1 when the results differ or a Rust kernel takes more than [`LIMIT`] times its twin's time. With `--check`
//! nothing is timed and the arrays are small: that runs on the software GPU too, with twins in PTX (`nvcc -ptx`).

mod cache;
mod elementwise;
mod matrices;
mod memory;
mod pair;
mod tiles;

use anyhow::{Context as _, Result, ensure};
use bench::{LIMIT, open, open_any};
use comfy_table::Table;
use cust::prelude::*;
use gpu_kernels::{SM_70, SM_80, SM_90};
use pair::{KernelPair, Modules};
use std::process::ExitCode;

/// What the pairs are made for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Compare,
    Check,
}

impl Purpose {
    /// The one that applies.
    fn choose<T>(self, to_time: T, to_check: T) -> T {
        match self {
            Self::Compare => to_time,
            Self::Check => to_check,
        }
    }
}

fn main() -> Result<ExitCode> {
    let (flags, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let purpose = match flags.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Purpose::Compare,
        ["--check"] => Purpose::Check,
        _ => return Ok(usage()),
    };
    if files.is_empty() {
        return Ok(usage());
    }
    let _context = match purpose {
        Purpose::Compare => open()?,
        Purpose::Check => open_any()?,
    };
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let device = Device::get_device(0)?;
    let modules = Modules {
        rust: rust_modules(device)?,
        cpp: files.iter().map(|path| load(path)).collect::<Result<_>>()?,
    };

    let mut rows = Vec::new();
    for make in [
        elementwise::pairs,
        matrices::pairs,
        cache::pairs,
        tiles::pairs,
    ] {
        for pair in make(device, purpose)? {
            if !modules.has(pair.name) {
                println!(
                    "left out: {} is not in the modules for this GPU",
                    pair.label
                );
                continue;
            }
            pair.compare_results(&modules, &stream)
                .with_context(|| pair.label.clone())?;
            let times = purpose
                .choose(Some(()), None)
                .map(|()| pair.time(&modules, &stream));
            rows.push((pair.label, times.transpose()?));
        }
    }
    Ok(report(&rows))
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: kernels [--check] TWINS..    what nvcc made of proof/bench/cuda/kernels/*.cu"
    );
    ExitCode::from(2)
}

/// The modules that the device can run, the latest first: of a kernel that several have, its form is the one to compare.
fn rust_modules(device: Device) -> Result<Vec<Module>> {
    use cust::device::DeviceAttribute::ComputeCapabilityMajor;
    let major = device.get_attribute(ComputeCapabilityMajor)?;
    [(9, SM_90), (8, SM_80), (7, SM_70)]
        .into_iter()
        .filter(|(needed, _)| major >= *needed)
        .map(|(needed, ptx)| {
            Module::from_ptx(ptx, &[])
                .with_context(|| format!("load gpu-kernels' PTX of sm_{needed}0"))
        })
        .collect()
}

/// A cubin, or PTX.
fn load(path: &str) -> Result<Module> {
    let bytes = std::fs::read(path).with_context(|| format!("read {path}"))?;
    if bytes.starts_with(b"\x7fELF") {
        return Module::from_cubin(&bytes, &[]).with_context(|| format!("load {path}"));
    }
    let text = String::from_utf8(bytes).with_context(|| format!("{path} is not a module"))?;
    Module::from_ptx(text, &[]).with_context(|| format!("load {path}"))
}

/// Prints the times, Rust's first, and names those above the limit.
fn report(rows: &[(String, Option<[f64; 2]>)]) -> ExitCode {
    println!(
        "{} kernels have the same results as their twins",
        rows.len()
    );
    let mut table = Table::new();
    table.set_header(["kernel", "Rust µs", "nvcc -O3 µs", "Rust / nvcc"]);
    let (mut above, mut timed) = (Vec::new(), 0);
    for (label, times) in rows {
        let Some([ours, theirs]) = times else {
            continue;
        };
        timed += 1;
        let ratio = ours / theirs;
        if ratio > LIMIT {
            above.push(format!("{label} ({ratio:.3})"));
        }
        table.add_row([
            label.clone(),
            format!("{ours:.2}"),
            format!("{theirs:.2}"),
            format!("{ratio:.3}"),
        ]);
    }
    if timed == 0 {
        return ExitCode::SUCCESS;
    }
    println!("{} (measured)\n{table}", pair::how());
    bench::verdict(timed, &above)
}

/// As a launch takes it.
fn blocks(count: usize) -> Result<u32> {
    u32::try_from(count).context("more blocks than a grid has")
}

/// Fails unless there are pairs to compare.
fn some(pairs: Vec<KernelPair>) -> Result<Vec<KernelPair>> {
    ensure!(!pairs.is_empty(), "no pairs");
    Ok(pairs)
}
