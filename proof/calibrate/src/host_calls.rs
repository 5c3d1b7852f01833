//! What the driver's calls cost the thread that makes them.

use crate::findings::Findings;
use crate::gpu::{self, Stream, cu};
use crate::kernels::LoadedKernels;
use crate::stopwatch::{on_host, per_call, repeat, repeat_times};
use anyhow::Result;
use examples_host::device::Device;
use examples_host::host_clock;
use std::ptr;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
/// Calls in a row: fewer than the driver's queue takes.
const BATCH: usize = 100;

pub fn measure(findings: &mut Findings, device: &Device, kernels: &LoadedKernels) -> Result<()> {
    enqueueing(findings, kernels)?;
    asking(findings)?;
    waiting(findings, kernels)?;
    objects(findings)?;
    device_memory(findings, kernels)?;
    page_locked_memory(findings)?;
    computing(findings, device)
}

fn enqueueing(findings: &mut Findings, kernels: &LoadedKernels) -> Result<()> {
    let stream = gpu::stream()?;
    let (host, device) = (gpu::pinned(64 * KIB)?, gpu::allocate(64 * KIB)?);
    let timed = gpu::timing_event()?;
    let untimed = gpu::untimed_event()?;
    gpu::record(untimed, stream)?;
    let launch = || gpu::launch(kernels.null, (1, 32), stream, (0, 0));
    let copy = || gpu::to_device(device, host, 4 * KIB, stream);
    let record = || gpu::record(untimed, stream);
    let wait = || gpu::wait(stream, untimed);
    let in_a_row = [
        ("launch_us", per_call(BATCH, launch)?),
        ("copy_us", per_call(BATCH, copy)?),
        ("record_untimed_us", per_call(BATCH, record)?),
        ("wait_us", per_call(BATCH, wait)?),
    ];
    // Programs mix them, and then each takes longer than in a row of its like.
    let mixed = per_call(BATCH / 4, || {
        launch()?;
        copy()?;
        record()?;
        wait()
    })?;
    let longer = mixed / in_a_row.iter().map(|(_, time)| time).sum::<f64>();
    for (name, time) in in_a_row {
        findings.measured("host", name, time * longer.max(1.0));
    }
    let mut note = |name, value| findings.measured("host", name, value);
    note(
        "set_us",
        per_call(BATCH, || cu!(cuMemsetD8Async(device, 0, 4 * KIB, stream)))?,
    );
    note("record_us", per_call(BATCH, || gpu::record(timed, stream))?);
    note(
        "host_function_us",
        per_call(20, || gpu::host_function(stream))?,
    );
    gpu::free_pinned(host)?;
    gpu::free(device)
}

fn asking(findings: &mut Findings) -> Result<()> {
    let (stream, event) = (gpu::stream()?, gpu::timing_event()?);
    gpu::record(event, stream)?;
    let mut note = |name, value| findings.measured("host", name, value);
    note("query_us", per_call(BATCH, || cu!(cuEventQuery(event)))?);
    note(
        "synchronize_us",
        per_call(BATCH, || cu!(cuStreamSynchronize(stream)))?,
    );
    Ok(())
}

/// From the end of what a thread waits for to the return of its call: what is left of a null kernel's round trip. A thread that is to
/// be woken waits for a longer one: a core that has slept for less time is back sooner.
fn waiting(findings: &mut Findings, kernels: &LoadedKernels) -> Result<()> {
    const TURNS: u32 = 64; // about 10 µs on an H200, as a short kernel of a program
    let stream = gpu::stream()?;
    let (blocking, polled) = (gpu::blocking_event()?, gpu::untimed_event()?);
    let [_, long, ..] = kernels.classes;
    let (null, long) = ((kernels.null, 0), (long, TURNS));
    let round_trip = |(kernel, turns), wait: &dyn Fn() -> Result<()>| {
        repeat_times(31, || {
            gpu::synchronize()?;
            on_host(|| {
                gpu::launch(kernel, (1, 32), stream, (turns, 0))?;
                wait()
            })
        })
    };
    let spin = || cu!(cuStreamSynchronize(stream));
    let spinning = round_trip(null, &spin)?;
    let longer = round_trip(long, &spin)? - spinning;
    let sleeping = round_trip(long, &|| {
        gpu::record(blocking, stream)?;
        cu!(cuEventSynchronize(blocking))
    })?;
    let polling = round_trip(null, &|| {
        gpu::record(polled, stream)?;
        while !gpu::is_reached(polled)? {}
        Ok(())
    })?;
    let kernel = kernels.null_us;
    let handover = |name| findings.figure("handover", name);
    let on_device = handover("arrival_us")? + kernel;
    let launched = findings.figure("host", "launch_us")?;
    let marker = handover("to_marker_us")?;
    findings.fitted("host", "wake_up_us", spinning - launched - on_device);
    findings.fitted(
        "host",
        "blocking_wake_up_us",
        sleeping - longer - launched - on_device - marker,
    );
    // The query that says so comes half of its time late, on average.
    let query = 0.5 * findings.figure("host", "query_us")?;
    findings.fitted(
        "host",
        "notice_us",
        polling - launched - on_device - marker - query,
    );
    Ok(())
}

fn objects(findings: &mut Findings) -> Result<()> {
    let streams = repeat(|| {
        let mut made = [ptr::null_mut(); 8];
        let time = on_host(|| {
            made.iter_mut()
                .try_for_each(|stream| cu!(cuStreamCreate(stream, 1)))
        })?;
        made.into_iter()
            .try_for_each(|stream| cu!(cuStreamDestroy_v2(stream)))?;
        Ok(time / 8.0)
    })?;
    let events = repeat(|| {
        let mut made = [ptr::null_mut(); BATCH];
        let time = on_host(|| {
            made.iter_mut()
                .try_for_each(|event| cu!(cuEventCreate(event, 0)))
        })?;
        made.into_iter()
            .try_for_each(|event| cu!(cuEventDestroy_v2(event)))?;
        Ok(time / BATCH as f64)
    })?;
    findings.measured("host", "stream_create_us", streams);
    findings.measured("host", "event_create_us", events);
    let text = LoadedKernels::source();
    let load = repeat_times(3, || {
        let mut module = ptr::null_mut();
        let time = on_host(|| {
            module = gpu::module(&text)?;
            Ok(())
        })?;
        cu!(cuModuleUnload(module))?;
        Ok(time)
    })?;
    findings.measured("host", "module_load_us", load);
    Ok(())
}

fn device_memory(findings: &mut Findings, kernels: &LoadedKernels) -> Result<()> {
    // While one small allocation lives, the driver keeps the chunk that it lies in for others.
    let kept = gpu::allocate(64 * KIB)?;
    let pair = |bytes: usize| {
        repeat(|| {
            on_host(|| {
                let mut address = 0;
                cu!(cuMemAlloc_v2(&mut address, bytes))?;
                cu!(cuMemFree_v2(address))
            })
        })
    };
    let cached = pair(64 * KIB)?;
    let [whole, larger] = [pair(16 * MIB)?, pair(64 * MIB)?];
    let mut limit = 64 * KIB;
    while limit < 8 * MIB && pair(2 * limit)? < (cached * whole).sqrt() {
        limit *= 2;
    }
    gpu::free(kept)?;
    let per_mib = ((larger - whole) / 48.0).max(0.0);
    findings.measured("host", "allocation_cached_us", cached);
    findings.fitted("host", "allocation_us", whole - 16.0 * per_mib);
    findings.fitted("host", "allocation_us_per_mib", per_mib);
    findings.measured("host", "allocation_cached_bytes", limit as f64);
    pool(findings, kernels)
}

/// The default pool, which gives back at each wait what is not in use.
fn pool(findings: &mut Findings, kernels: &LoadedKernels) -> Result<()> {
    let stream = gpu::stream()?;
    let pair = |bytes: usize, stream| {
        let mut address = 0;
        cu!(cuMemAllocAsync(&mut address, bytes, stream))?;
        cu!(cuMemFreeAsync(address, stream))
    };
    let grown = |bytes: usize| {
        repeat(|| {
            gpu::synchronize()?;
            on_host(|| {
                pair(bytes, stream)?;
                cu!(cuStreamSynchronize(stream))
            })
        })
    };
    let [less, more] = [grown(32 * MIB)?, grown(64 * MIB)?];
    // The first allocation makes the pool grow; it is kept until this one is freed.
    let mut held = 0;
    cu!(cuMemAllocAsync(&mut held, MIB, stream))?;
    let alone = per_call(BATCH, || pair(64 * KIB, stream))?;
    let waited = repeat(|| {
        gpu::synchronize()?;
        on_host(|| {
            pair(64 * KIB, stream)?;
            cu!(cuStreamSynchronize(stream))
        })
    })?;
    let search = pool_search(kernels)?;
    cu!(cuMemFreeAsync(held, stream))?;
    let per_mib = ((more - less) / 32.0).max(0.0);
    findings.measured("host", "pool_allocation_us", alone);
    findings.fitted("host", "pool_search_us", search);
    findings.fitted("host", "pool_growth_us", less - waited - 32.0 * per_mib);
    findings.fitted("host", "pool_growth_us_per_mib", per_mib);
    Ok(())
}

/// The additional time of an allocation when eight streams share the pool, compared with one stream. The pool has memory already. A
/// kernel uses it: of a stream that has done nothing, the driver knows how far it is.
fn pool_search(kernels: &LoadedKernels) -> Result<f64> {
    let streams = gpu::streams(8)?;
    let step = |streams: &[Stream], allocates: bool| {
        let mut turn = 0;
        per_call(BATCH, || {
            turn += 1;
            let stream = streams[turn % streams.len()];
            let launch = || gpu::launch(kernels.null, (1, 32), stream, (0, 0));
            if !allocates {
                return launch();
            }
            let mut address = 0;
            cu!(cuMemAllocAsync(&mut address, 64 * KIB, stream))?;
            launch()?;
            cu!(cuMemFreeAsync(address, stream))
        })
    };
    let allocation =
        |streams: &[Stream]| -> Result<f64> { Ok(step(streams, true)? - step(streams, false)?) };
    Ok(allocation(&streams)? - allocation(&streams[..1])?)
}

fn page_locked_memory(findings: &mut Findings) -> Result<()> {
    const LARGE: usize = 32;
    // As with device memory: the driver keeps the block of small allocations while one of them lives.
    let kept = gpu::pinned(64 * KIB)?;
    let mut free_times = Vec::new();
    let mut lock = |bytes: usize| {
        repeat_times(3, || {
            let mut start = ptr::null_mut();
            let time = on_host(|| cu!(cuMemHostAlloc(&mut start, bytes, 0)))?;
            free_times.push((bytes, on_host(|| gpu::free_pinned(start))?));
            Ok(time)
        })
    };
    let (small, large) = (lock(64 * KIB)?, lock(LARGE * MIB)?);
    gpu::free_pinned(kept)?;
    let per_mib = (large - small) / (LARGE as f64 - 1.0 / 16.0);
    let of_large = free_times.iter().filter(|(bytes, _)| *bytes == LARGE * MIB);
    let free = crate::stopwatch::median(of_large.map(|(_, time)| *time).collect());
    findings.measured("host", "pin_us", small - per_mib / 16.0);
    findings.measured("host", "pin_us_per_mib", per_mib);
    findings.measured("host", "unpin_share", free / large);
    Ok(())
}

/// The host's own work.
fn computing(findings: &mut Findings, device: &Device) -> Result<()> {
    const BYTES: usize = 64 * MIB;
    let from = vec![1_u8; BYTES];
    let mut to = vec![0_u8; BYTES];
    let copy = repeat_times(3, || {
        on_host(|| {
            host_clock::memory_work(2 * BYTES as u64, || {
                to.copy_from_slice(std::hint::black_box(&from))
            });
            Ok(())
        })
    })?;
    findings.measured("host", "memory_gb_per_s", 2.0 * BYTES as f64 / copy * 1e-3);
    let text: Vec<u8> = (0..8 * MIB)
        .map(|index| ((index * 7919) >> 5) as u8 % 26)
        .collect();
    let start = repeat(|| threads_start(device))?;
    findings.measured("host", "thread_start_us", start);
    let count = repeat_times(3, || {
        on_host(|| {
            let mut counts = [0_u64; 256];
            host_clock::counting_work(text.len() as u64, || {
                for &letter in std::hint::black_box(&text) {
                    counts[usize::from(letter)] += 1;
                }
            });
            std::hint::black_box(counts);
            Ok(())
        })
    })?;
    findings.measured("host", "count_byte_ns", count * 1e3 / text.len() as f64);
    Ok(())
}

/// From the start of host threads until they run, in µs: the mean of several.
fn threads_start(device: &Device) -> Result<f64> {
    const THREADS: usize = 4;
    let before = host_clock::now();
    let starts = libcuda::host::threads(THREADS, |_| {
        device.make_current()?;
        anyhow::Ok(host_clock::now())
    });
    let starts: Vec<_> = starts.into_iter().collect::<Result<_>>()?;
    let waited = starts
        .into_iter()
        .map(|start| (start - before).as_secs_f64());
    Ok(waited.sum::<f64>() * 1e6 / THREADS as f64)
}
