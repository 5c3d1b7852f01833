//! The multiprocessors: how fast instructions of each class are issued, and how blocks come and go.

use crate::findings::Findings;
use crate::gpu;
use crate::kernels::{CLASSES, LoadedKernels, PER_TURN};
use crate::stopwatch::{Stopwatch, least};
use anyhow::Result;
use std::time::Duration;

/// Threads of the one block that keeps one multiprocessor busy.
const THREADS: u32 = 1024;
const WARPS: f64 = THREADS as f64 / 32.0;

pub fn measure(findings: &mut Findings, kernels: &LoadedKernels, watch: &Stopwatch) -> Result<()> {
    // Cycles of the clock that the device reports, in a µs.
    let clock = f64::from(gpu::attribute(13).unwrap_or(1_000_000)) * 1e-3;
    for (name, kernel) in CLASSES.iter().zip(kernels.classes) {
        let cycles = kernels.turn_us(watch, kernel, THREADS, 0)? * clock;
        // The loop counts and compares: two more of the integer class.
        let issued = f64::from(PER_TURN) + if *name == "alu32" { 2.0 } else { 0.0 };
        findings.measured("kernels.issue_per_cycle", name, issued * WARPS / cycles);
    }
    let shared = kernels.turn_us(watch, kernels.shared_wide, THREADS, 0)? * clock;
    findings.measured(
        "kernels",
        "shared_bytes_per_cycle",
        8.0 * 16.0 * f64::from(THREADS) / shared,
    );
    let narrow = kernels.turn_us(watch, kernels.shared, THREADS, 0)? * clock;
    findings.measured("kernels.issue_per_cycle", "memory", 8.0 * WARPS / narrow);
    let counters = gpu::allocate(4 * THREADS as usize)?;
    let atomics = kernels.turn_us(watch, kernels.atomics, THREADS, counters)? * clock;
    findings.measured(
        "kernels",
        "atomics_per_cycle",
        4.0 * f64::from(THREADS) / atomics,
    );
    gpu::free(counters)?;
    blocks(findings, kernels, watch, clock)
}

/// Empty blocks: small ones show how fast blocks start, large ones how long a block holds its place, its start
/// included.
fn blocks(
    findings: &mut Findings,
    kernels: &LoadedKernels,
    watch: &Stopwatch,
    clock: f64,
) -> Result<()> {
    let multiprocessors = gpu::attribute(16).unwrap_or(1).cast_unsigned();
    let resident = f64::from(gpu::attribute(39).unwrap_or(2048));
    let ahead = Duration::from_micros(100);
    // Cycles between two blocks on one multiprocessor.
    let cycles = |threads: u32| -> Result<f64> {
        let time = |rounds: u32| {
            least(|| {
                watch.device(ahead, |stream| {
                    gpu::launch(
                        kernels.null,
                        (multiprocessors * rounds, threads),
                        stream,
                        (0, 0),
                    )
                })
            })
        };
        Ok((time(160)? - time(32)?) / 128.0 * clock)
    };
    let held = |threads: u32| -> Result<f64> {
        Ok(cycles(threads)? * (resident / f64::from(threads)).floor())
    };
    let (half, full) = (held(512)?, held(1024)?);
    let start = cycles(32)?;
    let per_warp = ((full - half) / 16.0).max(0.0);
    findings.measured("kernels", "block_start_cycles", start);
    findings.fitted("kernels", "block_turnover_cycles_per_warp", per_warp);
    findings.fitted(
        "kernels",
        "block_turnover_cycles",
        half - 16.0 * per_warp - start,
    );
    Ok(())
}
