//! Device memory: what copies and memsets within it reach.

use crate::findings::Findings;
use crate::gpu::{self, cu};
use crate::stopwatch::{Stopwatch, repeat_times};
use anyhow::Result;
use std::time::Duration;

/// Several times the largest cache.
const BYTES: usize = 256 << 20;
const SMALL: usize = 64 << 10;

pub fn measure(findings: &mut Findings, watch: &Stopwatch) -> Result<()> {
    let (from, to) = (gpu::allocate(BYTES)?, gpu::allocate(BYTES)?);
    let ahead = Duration::from_micros(150);
    let small = watch.each(5, 45, |stream| {
        cu!(cuMemcpyDtoDAsync_v2(to, from, SMALL, stream))
    })?;
    let time = |body: &dyn Fn(usize) -> Result<()>| -> Result<f64> {
        let of = |bytes: usize| repeat_times(5, || watch.device(ahead, |_| body(bytes)));
        // What a small one takes is set-up, and the events.
        Ok(of(BYTES)? - of(SMALL)?)
    };
    let copy = time(&|bytes| cu!(cuMemcpyDtoDAsync_v2(to, from, bytes, watch.stream)))?;
    let set = time(&|bytes| cu!(cuMemsetD8Async(to, 7, bytes, watch.stream)))?;
    gpu::free(from)?;
    gpu::free(to)?;
    let (queueing, demand) = (
        findings.of_base("memory", "queueing")?,
        findings.of_base("memory", "copy_demand")?,
    );
    let moved = (BYTES - SMALL) as f64 * 1e-3;
    let (copy_rate, set_rate) = (2.0 * moved / copy, moved / set);
    let bandwidth = copy_rate / load(demand, queueing);
    findings.fitted("memory", "bandwidth_gb_per_s", bandwidth);
    findings.fitted("memory", "set_traffic", copy_rate / set_rate);
    findings.measured(
        "memory",
        "copy_setup_us",
        small - 2.0 * SMALL as f64 / copy_rate * 1e-3,
    );
    Ok(())
}

/// The share of the bandwidth that the model gives to a demand, in multiples of the bandwidth: the solution of
/// `ρ (1 + q ρ / (1 - ρ)) = demand`.
fn load(demand: f64, queueing: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let load: f64 = 0.5 * (low + high);
        match load * (1.0 + queueing * load / (1.0 - load)) < demand {
            true => low = load,
            false => high = load,
        }
    }
    low
}
