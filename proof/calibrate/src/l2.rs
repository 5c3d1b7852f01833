//! What the L2 cache delivers to loads, and to bulk copies: all multiprocessors read the same bytes, which it holds, at different times.
//!
//! Multiprocessors that read in step would ask for the same line at the same time, and a GPU answers some of them together.

use crate::findings::Findings;
use crate::gpu::{self, Function, cu};
use crate::stopwatch::{Stopwatch, repeat_times};
use anyhow::Result;
use std::time::Duration;

/// What a block reads in a turn.
const TURN_BYTES: usize = 64 << 10;
/// Turns of a launch, and of a longer one.
const TURNS: [u32; 2] = [16, 80];

pub fn measure(findings: &mut Findings, watch: &Stopwatch) -> Result<()> {
    let multiprocessors = gpu::attribute(16).unwrap_or(1).cast_unsigned();
    let cache = gpu::attribute(38).unwrap_or(1 << 22).cast_unsigned() as usize;
    // A part of it: not all of the cache may be there for one kernel's data.
    let bytes = (cache / 4).next_multiple_of(TURN_BYTES);
    let (data, header) = (gpu::allocate(bytes)?, gpu::allocate(32)?);
    let words = [data, bytes as u64];
    cu!(cuMemcpyHtoD_v2(header, words.as_ptr().cast(), 16))?;
    let rate = |kernel: Function, (blocks, threads): (u32, u32)| -> Result<f64> {
        let time = |turns: u32| {
            repeat_times(5, || {
                watch.device(Duration::from_micros(100), |stream| {
                    gpu::launch(kernel, (blocks, threads), stream, (turns, header))
                })
            })
        };
        let [few, many] = TURNS.map(time);
        let moved = f64::from(blocks * (TURNS[1] - TURNS[0])) * TURN_BYTES as f64;
        Ok(moved / (many? - few?) * 1e-3)
    };
    let loads = gpu::module(include_str!("l2.ptx"))?;
    let loads = gpu::function(loads, "l2_loads")?;
    findings.measured(
        "memory",
        "l2_gb_per_s",
        rate(loads, (multiprocessors, 1024))?,
    );
    if gpu::has_clusters() {
        let copies = gpu::function(gpu::module(include_str!("l2_bulk.ptx"))?, "l2_copies")?;
        let found = rate(copies, (2 * multiprocessors, 32))?;
        findings.measured("memory", "l2_bulk_gb_per_s", found);
    }
    gpu::free(data)?;
    gpu::free(header)
}
