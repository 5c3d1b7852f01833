//! What a recording says of a program on plain cust besides when operations ran, on the software GPU.

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::device::Device;
use examples_host::host_clock;
use examples_host::intervals::{Engine, Recording};
use examples_host::measure::Stopwatch;
use examples_host::range::range;
use examples_host::recording::record;
use examples_host::threads::on_threads;
use libcuda::Choice;
use software_gpu::reports;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

kernels! { use gpu_kernels::affine; }

const LEN: usize = 1 << 16;

/// Recordings of two tests would mix.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> (MutexGuard<'static, ()>, Device) {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let device = Device::open(Choice::Software).unwrap();
    device.make_current().unwrap();
    (alone, device)
}

/// Device memory that has been written.
fn buffer() -> DeviceBuffer<f32> {
    DeviceBuffer::zeroed(LEN).unwrap()
}

/// Sets every byte, in stream order.
fn set(data: &mut DeviceBuffer<f32>, stream: &Stream) -> Result<()> {
    // SAFETY: the tests keep the buffer until the recording has waited.
    unsafe { data.set_8_async(1, stream)? };
    Ok(())
}

/// The dependencies as "engine of the one -> engine of the other".
fn edges(recording: &Recording) -> Vec<String> {
    let engine = |place: usize| recording.intervals[place].engine;
    let edge = |(from, to)| format!("{} -> {}", engine(from), engine(to));
    let pairs = recording.dependencies.iter().map(|d| (d.from, d.to));
    pairs.map(edge).collect()
}

#[test]
fn what_waits_for_an_event_depends_and_the_stopwatch_adds_nothing() {
    let (_alone, device) = alone();
    let [h, k, d] = &stream::named(["in", "kernel", "out"]).unwrap();
    let kernels = Kernels::load(gpu_kernels::SM_70).unwrap();
    let input = LockedBuffer::new(&1.0, LEN).unwrap();
    let mut output = LockedBuffer::new(&0.0, LEN).unwrap();
    let mut data = buffer();
    let [copied, computed, emptied] =
        [(); 3].map(|()| Event::new(EventFlags::DISABLE_TIMING).unwrap());
    let watch = Stopwatch::new(&device).unwrap();
    let mut pass = || -> Result<()> {
        let blocks = LEN.div_ceil(256) as u32;
        // SAFETY: everything lives until the stopwatch has waited, and the events order its uses.
        unsafe {
            data.async_copy_from(&input, h)?;
            copied.record(h)?;
            k.wait(&copied)?;
            launch!(kernels.affine<<<blocks, 256, 0, k>>>(&mut data, 2.0, 1.0))?;
            computed.record(k)?;
            d.wait(&computed)?;
            data.async_copy_to(&mut output, d)?;
            emptied.record(d)?;
            Ok(h.wait(&emptied)?)
        }
    };
    let streams = [h, k, d];
    // The first copy may find that its engine has served another stream.
    watch.time(streams, &mut pass).unwrap();
    // As a recording does: the device has been idle for a while.
    device.synchronize().unwrap();
    let timed = watch.time(streams, &mut pass).unwrap();
    let mut recorded = None;
    let twice = || {
        recorded = Some(watch.time(streams, &mut pass)?);
        pass()
    };
    let recording = record::<anyhow::Error>(&device, twice).unwrap();
    let once = ["H2D -> kernel", "kernel -> D2H"];
    assert_eq!(
        edges(&recording),
        [&once[..], &["D2H -> H2D"], &once].concat()
    );
    assert!(recording.dependencies.is_sorted_by(|a, b| a < b));
    let recorded = recorded.map(|sample| sample.event);
    assert_eq!(recorded, Some(timed.event), "recording changes no time");
}

#[test]
fn every_call_of_the_driver_is_kept_with_what_it_enqueued() {
    let (_alone, device) = alone();
    let [stream] = &stream::named(["work"]).unwrap();
    let event = Event::new(EventFlags::DISABLE_TIMING).unwrap();
    let mut data = buffer();
    let recording = record::<anyhow::Error>(&device, || {
        set(&mut data, stream)?;
        event.record(stream)?;
        Ok(stream.synchronize()?)
    });
    let recording = recording.unwrap();
    let calls: Vec<_> = recording
        .calls
        .iter()
        .map(|call| (call.name.as_str(), call.stream.as_deref(), call.interval))
        .collect();
    let work = Some("work");
    assert_eq!(
        calls,
        [
            ("cuMemsetD8Async", work, Some(0)),
            ("cuEventRecord", work, None),
            ("cuStreamSynchronize", work, None),
        ]
    );
    let end = recording.intervals[0].span.end.cast_signed();
    assert!(recording.calls[2].span.end >= end, "the host waits for it");
}

#[test]
fn two_handles_of_the_legacy_stream_are_one_stream() {
    let (_alone, device) = alone();
    let [other] = &stream::named(["other"]).unwrap();
    let event = Event::new(EventFlags::DISABLE_TIMING).unwrap();
    let [mut a, mut b, mut c] = [buffer(), buffer(), buffer()];
    let recording = record::<anyhow::Error>(&device, || {
        let legacy = stream::legacy();
        set(&mut a, &legacy)?;
        // The same stream without a handle: cuMemsetD8.
        b.set_8(1)?;
        event.record(&legacy)?;
        other.wait(&event)?;
        set(&mut c, other)
    });
    let recording = recording.unwrap();
    assert_eq!(recording.streams(), ["legacy", "other"]);
    let pairs = recording.dependencies.iter().map(|d| (d.from, d.to));
    assert_eq!(pairs.collect::<Vec<_>>(), [(1, 2)]);
}

#[test]
fn what_was_recorded_before_is_no_dependency() {
    let (_alone, device) = alone();
    let [first, second] = &stream::named(["first", "second"]).unwrap();
    let [mut a, mut b] = [buffer(), buffer()];
    let event = Event::new(EventFlags::DISABLE_TIMING).unwrap();
    set(&mut a, first).unwrap();
    event.record(first).unwrap();
    let recording = record::<anyhow::Error>(&device, || {
        set(&mut a, first)?;
        second.wait(&event)?;
        set(&mut b, second)
    });
    assert_eq!(edges(&recording.unwrap()), [""; 0]);
}

/// Copies in on one stream and out on another one, with nothing between.
fn race(device: &Device) -> Recording {
    let [h, d] = &stream::named(["in", "out"]).unwrap();
    let input = LockedBuffer::new(&1.0, LEN).unwrap();
    let mut output = LockedBuffer::new(&0.0, LEN).unwrap();
    let mut data = buffer();
    let recording = record::<anyhow::Error>(device, || {
        // SAFETY: all memory outlives the recording. The race is the point, and stale bytes are numbers too.
        unsafe {
            data.async_copy_from(&input, h)?;
            data.async_copy_to(&mut output, d)?;
        }
        Ok(())
    });
    recording.unwrap()
}

#[test]
fn a_race_names_its_operations_even_where_it_is_collected_and_was_found_before() {
    let (_alone, device) = alone();
    let (recordings, reports) = reports::collect(|| {
        let first = race(&device);
        [first, reports::collect(|| race(&device)).0]
    });
    assert_eq!(reports.len(), 1, "{reports:?}");
    for recording in recordings {
        assert_eq!(recording.findings.len(), 1, "{:?}", recording.findings);
        let finding = &recording.findings[0];
        assert!(finding.text.starts_with("race: "), "{}", finding.text);
        assert!(finding.text.contains("stream `in`"), "{}", finding.text);
        let engines = finding.intervals.iter();
        let mut engines: Vec<Engine> = engines
            .map(|place| recording.intervals[*place].engine)
            .collect();
        engines.sort_unstable();
        assert_eq!(engines, [Engine::HostToDevice, Engine::DeviceToHost]);
    }
}

#[test]
fn a_finding_keeps_those_of_its_operations_that_are_in_the_recording() {
    let (_alone, device) = alone();
    let [h, d] = &stream::named(["in", "out"]).unwrap();
    let pool = MemoryPool::new(cust::device::Device::get_device(0).unwrap()).unwrap();
    // SAFETY: used behind the allocation only.
    let mut data = unsafe { pool.alloc_async::<f32>(LEN, h).unwrap() };
    let (recording, _) = reports::collect(|| {
        record::<anyhow::Error>(&device, || {
            set(&mut data, h)?;
            // Unordered with the memset: the bug. Its free is no operation of the recording.
            Ok(data.drop_async(d)?)
        })
    });
    let recording = recording.unwrap();
    let findings = recording.findings.iter();
    let about: Vec<&[usize]> = findings.map(|finding| &finding.intervals[..]).collect();
    assert!(about.contains(&&[0][..]), "{:?}", recording.findings);
    assert!(about.concat().iter().all(|place| *place == 0), "{about:?}");
}

#[test]
fn phases_nest_and_lie_around_the_work_that_they_enqueue_and_wait_for() {
    let (_alone, device) = alone();
    let [stream] = &stream::named(["work"]).unwrap();
    let mut data = buffer();
    let before = range("begun before the recording");
    let recording = record::<anyhow::Error>(&device, || {
        set(&mut data, stream)?;
        let _all = range("all");
        {
            let _first = range("first half");
            set(&mut data, stream)?;
            stream.synchronize()?;
        }
        let _second = range("second half");
        on_threads(&device, 1, |_| {
            let _phase = range("on a thread");
            host_clock::spend(Duration::from_micros(5));
            anyhow::Ok(())
        })?;
        Ok(())
    });
    drop(before);
    let recording = recording.unwrap();
    let names = |thread: &str| -> Vec<&str> {
        let own = recording
            .ranges
            .iter()
            .filter(|range| range.thread == thread);
        own.map(|range| range.name.as_str()).collect()
    };
    let thread = std::thread::current().name().unwrap().to_owned();
    assert_eq!(names(&thread), ["all", "first half", "second half"]);
    assert_eq!(names("host thread 0"), ["on a thread"]);
    let span = |name: &str| {
        recording
            .ranges
            .iter()
            .find(|range| range.name == name)
            .unwrap()
            .span
    };
    let [all, first, second, other] = ["all", "first half", "second half", "on a thread"].map(span);
    assert!(all.start <= first.start && first.end <= second.start && second.end <= all.end);
    assert!(second.start < other.start && other.end <= second.end);
    assert_eq!(other.nanoseconds(), 5_000);
    // It waited for the second of the two, and began before that was started.
    let work = recording.intervals[1].span;
    assert!(first.start <= work.start && work.end <= first.end);
}

#[test]
fn a_stopwatch_shows_how_long_the_host_waits() {
    let (_alone, device) = alone();
    let [stream] = &stream::named(["work"]).unwrap();
    let mut data = buffer();
    let watch = Stopwatch::new(&device).unwrap();
    let recording = record::<anyhow::Error>(&device, || {
        watch.time([stream], || set(&mut data, stream)).map(drop)
    });
    let recording = recording.unwrap();
    let [waiting] = &recording.ranges[..] else {
        panic!("{:?}", recording.ranges)
    };
    assert_eq!(waiting.name, "wait for the end");
    assert!(waiting.span.end >= recording.intervals[0].span.end);
}
