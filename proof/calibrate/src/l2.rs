//! What the L2 cache delivers to loads, and to bulk copies: all multiprocessors read the same bytes, which it holds.
//!
//! Where multiprocessors load in step, they ask for the same line at the same time, and a GPU merges some of these requests: an H200 delivers
//! 1.5 times as much as where each reads another part. Programs are between, and so is the figure: their mean. The bulk copies of a
//! program whose blocks do the same (`gemm_wgmma`) were not merged: they read different parts here.

use crate::findings::Findings;
use crate::gpu::{self, Function, cu};
use crate::stopwatch::{Stopwatch, repeat_times};
use anyhow::Result;
use std::time::Duration;

/// What a block reads in a turn.
const TURN_BYTES: usize = 64 << 10;
/// Turns of a launch, and of a longer one.
const TURNS: [u32; 2] = [8, 40];

pub fn measure(findings: &mut Findings, watch: &Stopwatch) -> Result<()> {
    let multiprocessors = gpu::attribute(16).unwrap_or(1).cast_unsigned();
    let cache = gpu::attribute(38).unwrap_or(1 << 22).cast_unsigned() as usize;
    // A part of it: not all of the cache may be there for one kernel's data.
    let bytes = (cache / 4).next_multiple_of(TURN_BYTES);
    let (data, header) = (gpu::allocate(bytes)?, gpu::allocate(32)?);
    // Whether each block begins at another place.
    let rate = |kernel: Function, (blocks, threads): (u32, u32), apart: bool| -> Result<f64> {
        let words = [data, bytes as u64, u64::from(apart)];
        cu!(cuMemcpyHtoD_v2(header, words.as_ptr().cast(), 24))?;
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
    let loads = gpu::function(gpu::module(include_str!("l2.ptx"))?, "l2_loads")?;
    let [apart, in_step] = [true, false].map(|apart| rate(loads, (multiprocessors, 1024), apart));
    findings.fitted("memory", "l2_gb_per_s", (apart? + in_step?) / 2.0);
    if gpu::has_clusters() {
        let copies = gpu::function(gpu::module(include_str!("l2_bulk.ptx"))?, "l2_copies")?;
        let found = rate(copies, (2 * multiprocessors, 32), true)?;
        findings.measured("memory", "l2_bulk_gb_per_s", found);
    }
    gpu::free(data)?;
    gpu::free(header)
}
