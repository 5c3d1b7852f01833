//! What the L2 cache delivers to bulk copies: all multiprocessors read the same bytes, which it holds, at different places.
//!
//! A GPU merges requests for one line at one time, and blocks that begin at one place ask for the same lines: an H200
//! delivers twice as much then. The blocks of `gemm_wgmma` were not merged, so each begins at another place here. Narrow loads get
//! less, `memory.l2_gb_per_s`: that was fitted to programs, and is not written.

use crate::findings::Findings;
use crate::gpu::{self, cu};
use crate::stopwatch::{Stopwatch, repeat_times};
use anyhow::Result;
use std::time::Duration;

/// The bytes that a block reads in a turn.
const TURN_BYTES: usize = 64 << 10;
/// Turns of a launch, and of a longer one.
const TURNS: [u32; 2] = [8, 40];

pub fn measure(findings: &mut Findings, watch: &Stopwatch) -> Result<()> {
    if !gpu::has_clusters() {
        return Ok(());
    }
    let multiprocessors = gpu::attribute(16).unwrap_or(1).cast_unsigned();
    let cache = gpu::attribute(38).unwrap_or(1 << 22).cast_unsigned() as usize;
    // A part of it: not all of the cache may be there for one kernel's data.
    let bytes = (cache / 4).next_multiple_of(TURN_BYTES);
    let (data, header) = (gpu::allocate(bytes)?, gpu::allocate(16)?);
    cu!(cuMemcpyHtoD_v2(
        header,
        [data, bytes as u64].as_ptr().cast(),
        16
    ))?;
    let kernel = gpu::function(gpu::module(include_str!("l2_bulk.ptx"))?, "l2_copies")?;
    let blocks = 2 * multiprocessors;
    let [few, many] = TURNS.map(|turns| {
        repeat_times(5, || {
            watch.device(Duration::from_micros(100), |stream| {
                gpu::launch(kernel, (blocks, 32), stream, (turns, header))
            })
        })
    });
    let moved = f64::from(blocks * (TURNS[1] - TURNS[0])) * TURN_BYTES as f64;
    findings.measured("memory", "l2_bulk_gb_per_s", moved / (many? - few?) * 1e-3);
    gpu::free(data)?;
    gpu::free(header)
}
