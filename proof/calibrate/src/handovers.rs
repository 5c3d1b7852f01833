//! The time from the end of one operation to the start of the next.
//!
//! The device's clock shows sums only: an operation between two events, or in a chain. Where a sum cannot be taken
//! apart, it is divided as in the base, and the figures are called fitted.

use crate::findings::Findings;
use crate::gpu::{self, Stream};
use crate::kernels::LoadedKernels;
use crate::stopwatch::{Stopwatch, least};
use anyhow::Result;
use std::time::Duration;

const SMALL: usize = 64 << 10;
/// The buffers that pass between engines. An H200 sometimes hides a part of the hand-over of longer copies.
const CHUNK: usize = 64 << 10;

pub fn measure(
    findings: &mut Findings,
    kernels: &mut LoadedKernels,
    watch: &Stopwatch,
) -> Result<()> {
    let sums = HandoverCosts::measure(kernels, watch)?;
    let base = |name| findings.of_base("handover", name);
    let (to_marker, from_marker) = (base("to_marker_us")?, base("marker_to_kernel_us")?);
    // The kernel itself: what the ramp, the drain and an empty block take.
    let ramp = findings.of_base("kernels", "ramp_us")?;
    let drain = findings.of_base("kernels", "drain_us")?;
    let kernel_to_kernel = base("kernel_to_kernel_us")?;
    let block = empty_block_us(findings)?;
    // A chain of kernels: kernel and hand-over, in the base's proportions.
    let scale = sums.kernels / (ramp + drain + block + kernel_to_kernel);
    let kernel = (ramp + drain + block) * scale;
    kernels.null_us = kernel;
    let edges = (sums.marked_kernels - kernel).max(0.0) / (to_marker + from_marker);
    let (to_marker, from_marker) = (to_marker * edges, from_marker * edges);
    let to_host = base("to_host_function_us")?;
    let from_host = base("from_host_function_us")?;
    let functions = (sums.host_functions + sums.kernels - kernel) / (to_host + from_host);
    let start_interval = start_interval(kernels, watch)?;

    findings.fitted(
        "kernels",
        "ramp_us",
        ((kernel - block) * ramp / (ramp + drain)).max(0.0),
    );
    findings.fitted(
        "kernels",
        "drain_us",
        ((kernel - block) * drain / (ramp + drain)).max(0.0),
    );
    findings.measured("kernels", "start_interval_us", start_interval);
    let mut note = |name, value| findings.fitted("handover", name, value);
    note("kernel_to_kernel_us", sums.kernels - kernel);
    note("to_marker_us", to_marker);
    note("marker_to_kernel_us", from_marker);
    note(
        "marker_to_copy_us",
        sums.marked_copies - sums.copies - to_marker,
    );
    note(
        "kernel_to_copy_us",
        (sums.kernels_and_chunks - kernel - sums.chunks_up) / 2.0,
    );
    note(
        "copy_to_other_engine_us",
        (sums.chunks_up_and_down - sums.chunks_up - sums.chunks_down) / 2.0,
    );
    note("to_host_function_us", to_host * functions);
    note("from_host_function_us", from_host * functions);
    findings.measured("handover", "marker_to_marker_us", sums.markers);
    findings.measured("handover", "timestamp_us", sums.timestamps - sums.markers);
    findings.measured(
        "handover",
        "across_streams_us",
        across_streams(kernels, watch)?,
    );
    Ok(())
}

/// The time of an empty block of one warp, from the base.
fn empty_block_us(findings: &Findings) -> Result<f64> {
    let cycles = findings.of_base("kernels", "block_start_cycles")?
        + findings.of_base("kernels", "block_turnover_cycles")?
        + findings.of_base("kernels", "block_turnover_cycles_per_warp")?;
    let clock = gpu::attribute(13).unwrap_or(1_000_000);
    Ok(cycles / f64::from(clock) * 1e3)
}

/// Each: one more of it in a chain, in µs.
struct HandoverCosts {
    kernels: f64,
    marked_kernels: f64,
    markers: f64,
    timestamps: f64,
    copies: f64,
    marked_copies: f64,
    chunks_up: f64,
    chunks_down: f64,
    kernels_and_chunks: f64,
    chunks_up_and_down: f64,
    host_functions: f64,
}

impl HandoverCosts {
    fn measure(kernels: &LoadedKernels, watch: &Stopwatch) -> Result<Self> {
        let (host, other_host) = (gpu::pinned(CHUNK)?, gpu::pinned(CHUNK)?);
        let (device, other) = (gpu::allocate(CHUNK)?, gpu::allocate(CHUNK)?);
        let (timed, untimed) = (gpu::timing_event()?, gpu::untimed_event()?);
        let kernel = |stream| gpu::launch(kernels.null, (1, 32), stream, (0, 0));
        let mark = |stream| gpu::record(untimed, stream);
        let stamp = |stream| gpu::record(timed, stream);
        let small = |stream| gpu::to_device(device, host, SMALL, stream);
        let up = |stream| gpu::to_device(device, host, CHUNK, stream);
        let down = |stream| gpu::to_host(other_host, other, CHUNK, stream);
        let chain = |steps: &[&dyn Fn(Stream) -> Result<()>]| {
            watch.each(5, 45, |stream| {
                steps.iter().try_for_each(|step| step(stream))
            })
        };
        let sums = Self {
            kernels: chain(&[&kernel])?,
            marked_kernels: chain(&[&kernel, &mark])?,
            markers: chain(&[&mark])?,
            timestamps: chain(&[&stamp])?,
            copies: chain(&[&small])?,
            marked_copies: chain(&[&small, &mark])?,
            chunks_up: chain(&[&up])?,
            chunks_down: chain(&[&down])?,
            kernels_and_chunks: chain(&[&kernel, &up])?,
            chunks_up_and_down: chain(&[&up, &down])?,
            host_functions: host_functions(kernels, watch)?,
        };
        gpu::free_pinned(host)?;
        gpu::free_pinned(other_host)?;
        gpu::free(device)?;
        gpu::free(other)?;
        Ok(sums)
    }
}

/// What a host function that does nothing takes longer than a hand-over between the kernels at its sides. They are so long that the
/// driver's thread sleeps meanwhile: one that is still awake takes the next function at once.
fn host_functions(kernels: &LoadedKernels, watch: &Stopwatch) -> Result<f64> {
    const TURNS: u32 = 400;
    let [_, long, ..] = kernels.classes;
    let kernel = |stream| gpu::launch(long, (1, 32), stream, (TURNS, 0));
    let between = watch.each_with_host(2, 12, |stream| {
        kernel(stream)?;
        gpu::host_function(stream)
    })?;
    Ok(between - watch.each(2, 12, kernel)?)
}

/// The least time between the starts of two kernels that do not depend on each other: each in a stream of its own.
fn start_interval(kernels: &LoadedKernels, watch: &Stopwatch) -> Result<f64> {
    let (few, many) = (16, 64);
    let streams = gpu::streams(many)?;
    let time = |count: usize| {
        least(|| {
            let ahead = Duration::from_micros(300 + 15 * count as u64);
            watch.device_with(ahead, &streams[..count], || {
                streams[..count]
                    .iter()
                    .try_for_each(|stream| gpu::launch(kernels.null, (1, 32), *stream, (0, 0)))
            })
        })
    };
    Ok((time(many)? - time(few)?) / (many - few) as f64)
}

/// What it costs to hand a kernel's result to another stream, beyond handing it on in its own.
fn across_streams(kernels: &LoadedKernels, watch: &Stopwatch) -> Result<f64> {
    let other = gpu::stream()?;
    let events: Result<Vec<_>> = (0..96).map(|_| gpu::untimed_event()).collect();
    let events = events?;
    let hops = |streams: [Stream; 2], count: usize| {
        least(|| {
            let ahead = Duration::from_micros(200 + 15 * count as u64);
            watch.device_with(ahead, &[other], || {
                for (hop, event) in events.iter().take(count).enumerate() {
                    let (from, to) = (streams[hop % 2], streams[(hop + 1) % 2]);
                    gpu::launch(kernels.null, (1, 32), from, (0, 0))?;
                    gpu::record(*event, from)?;
                    gpu::wait(to, *event)?;
                }
                Ok(())
            })
        })
    };
    let each = |streams| -> Result<f64> { Ok((hops(streams, 88)? - hops(streams, 8)?) / 80.0) };
    Ok(each([watch.stream, other])? - each([watch.stream, watch.stream])?)
}
