//! What runs at the same time slows each other down: seen on the device, and to be compared with the model.

use crate::gpu::{self, Stream};
use crate::kernels::LoadedKernels;
use crate::stopwatch::{Stopwatch, repeat_times};
use anyhow::Result;
use examples_host::table::Table;
use std::time::Duration;

const COPIED: usize = 64 << 20;
/// What a memory-bound kernel reads and writes: more than an L2 cache holds.
const SCALED: usize = 256 << 20;
const THREADS: u32 = 256;
/// Kernels in a row, so that they last as long as a copy.
const LAUNCHES: usize = 8;
const RUNS: usize = 3;

/// Pairs of work: how long each takes alone, and both when they run together, in µs.
pub fn measure(kernels: &LoadedKernels, watch: &Stopwatch) -> Result<Table> {
    let (host, other_host) = (gpu::pinned(COPIED)?, gpu::pinned(COPIED)?);
    let (device, other) = (gpu::allocate(COPIED)?, gpu::allocate(COPIED)?);
    let (scaled, also_scaled) = (gpu::allocate(SCALED)?, gpu::allocate(SCALED)?);
    let multiprocessors = gpu::attribute(16).unwrap_or(1).cast_unsigned();
    let up = |stream| gpu::to_device(device, host, COPIED, stream);
    let down = |stream| gpu::to_host(other_host, other, COPIED, stream);
    let blocks = (SCALED / 16) as u32 / THREADS;
    let scale = |address| {
        move |stream| {
            (0..LAUNCHES).try_for_each(|_| {
                gpu::launch(kernels.scale, (blocks, THREADS), stream, (0, address))
            })
        }
    };
    let (scale, also_scale) = (scale(scaled), scale(also_scaled));
    // 1024 threads keep a multiprocessor's schedulers busy; two such blocks fit.
    let issue = |blocks: u32| {
        move |stream| gpu::launch(kernels.classes[1], (blocks, 1024), stream, (100, 0))
    };
    let (all, half) = (issue(multiprocessors), issue(multiprocessors / 2));

    type NamedLoad<'a> = (&'a str, &'a dyn Fn(Stream) -> Result<()>);
    let copy_up: NamedLoad = ("copy in", &up);
    let copy_down: NamedLoad = ("copy out", &down);
    let memory: NamedLoad = ("kernels bound by memory", &scale);
    let filling: NamedLoad = ("kernel on all multiprocessors", &all);
    let filling_half: NamedLoad = ("kernel on half the multiprocessors", &half);
    let pairs: [(NamedLoad, NamedLoad); 6] = [
        (copy_up, copy_down),
        (memory, copy_up),
        (memory, copy_down),
        (memory, ("the same on other data", &also_scale)),
        (filling, filling),
        (filling_half, filling_half),
    ];
    let second = gpu::stream()?;
    let mut table = Table::new([
        "first",
        "second",
        "alone",
        "alone",
        "together",
        "of the longer",
    ]);
    for ((name, work), (other_name, other_work)) in pairs {
        let alone = |work: &dyn Fn(Stream) -> Result<()>| {
            repeat_times(RUNS, || watch.device(Duration::from_micros(200), work))
        };
        let (one, other) = (alone(work)?, alone(other_work)?);
        let together = repeat_times(RUNS, || {
            watch.device_with(Duration::from_micros(300), &[second], || {
                work(watch.stream)?;
                other_work(second)
            })
        })?;
        table.row([
            name.to_owned(),
            other_name.to_owned(),
            format!("{one:.1} µs"),
            format!("{other:.1} µs"),
            format!("{together:.1} µs"),
            format!("{:.3}x", together / one.max(other)),
        ]);
    }
    gpu::free_pinned(host)?;
    gpu::free_pinned(other_host)?;
    for address in [device, other, scaled, also_scaled] {
        gpu::free(address)?;
    }
    Ok(table)
}
