//! What a recording says besides when operations ran, on the software GPU.

use examples_host::prelude::*;
use libcuda::Choice;
use software_gpu::reports;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const LEN: usize = 1 << 16;

kernels! {
    unsafe struct Kernels {
        fn affine(data: &mut [f32], a: f32, b: f32) = gpu_kernels::affine;
    }
}

/// Recordings of two tests would mix.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> (MutexGuard<'static, ()>, Device) {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    (alone, Device::open(Choice::Software).unwrap())
}

/// The dependencies as "engine of the one -> engine of the other".
fn edges(recording: &Recording) -> Vec<String> {
    let engine = |place: usize| recording.intervals[place].engine;
    let edge = |(from, to)| format!("{} -> {}", engine(from), engine(to));
    let pairs = recording.dependencies.iter().map(|d| (d.from, d.to));
    pairs.map(edge).collect()
}

#[test]
fn what_is_handed_from_stream_to_stream_depends_and_the_stopwatch_adds_nothing() {
    let (_alone, device) = alone();
    let [h, k, d] =
        ["in", "kernel", "out"].map(|name| Stream::non_blocking(&device, name).unwrap());
    let kernels = Kernels::load(&device, gpu_kernels::SM_70).unwrap();
    let input = HostBuffer::page_locked(&device, LEN).unwrap();
    let mut output = HostBuffer::page_locked(&device, LEN).unwrap();
    let mut data = DeviceBuffer::<f32>::new(&h, LEN).unwrap();
    let watch = Stopwatch::new(&device).unwrap();
    let mut pass = || {
        data.copy_from(&input)?;
        data.hand_to(&k)?;
        kernels.affine(Grid::cover(LEN, 256), &mut data, 2.0, 1.0)?;
        data.hand_to(&d)?;
        data.copy_to(&mut output)?;
        data.hand_to(&h)
    };
    // The first copy may find that its engine has served another stream.
    watch.time([&h, &k, &d], &mut pass).unwrap();
    // As a recording does: the device has been idle for a while.
    device.synchronize().unwrap();
    let timed = watch.time([&h, &k, &d], &mut pass).unwrap();
    let mut recorded = None;
    let twice = || {
        recorded = Some(watch.time([&h, &k, &d], &mut pass)?);
        pass()
    };
    let recording = record::<Error>(&device, twice).unwrap();
    let once = ["H2D -> kernel", "kernel -> D2H"];
    assert_eq!(
        edges(&recording),
        [&once[..], &["D2H -> H2D"], &once].concat()
    );
    assert!(recording.dependencies.is_sorted_by(|a, b| a < b));
    assert_eq!(recorded, Some(timed), "recording changes no time");
}

#[test]
fn two_handles_of_the_legacy_stream_are_one_stream() {
    let (_alone, device) = alone();
    let other = Stream::non_blocking(&device, "other").unwrap();
    let mut buffers = [(); 2].map(|()| {
        let stream = Stream::legacy(&device).unwrap();
        DeviceBuffer::<f32>::new(&stream, LEN).unwrap()
    });
    let mut third = DeviceBuffer::<f32>::new(&other, LEN).unwrap();
    let recording = record::<Error>(&device, || {
        for buffer in &mut buffers {
            buffer.fill_bytes(0)?;
        }
        other.wait_for(buffers[1].stream())?;
        third.fill_bytes(0)
    });
    let recording = recording.unwrap();
    assert_eq!(recording.streams(), ["legacy", "other"]);
    let pairs = recording.dependencies.iter().map(|d| (d.from, d.to));
    assert_eq!(pairs.collect::<Vec<_>>(), [(1, 2)]);
}

#[test]
fn what_was_recorded_before_is_no_dependency() {
    let (_alone, device) = alone();
    let [first, second] =
        ["first", "second"].map(|name| Stream::non_blocking(&device, name).unwrap());
    let [mut a, mut b] =
        [&first, &second].map(|stream| DeviceBuffer::<f32>::new(stream, LEN).unwrap());
    let event = Event::new(&device, Timing::Off).unwrap();
    a.fill_bytes(0).unwrap();
    event.record(&first).unwrap();
    let recording = record::<Error>(&device, || {
        a.fill_bytes(1)?;
        second.wait(&event)?;
        b.fill_bytes(1)
    });
    assert_eq!(edges(&recording.unwrap()), [""; 0]);
}

/// Copies in on one stream and out on another one, with nothing between.
fn race(device: &Device) -> Recording {
    let [h, d] = ["in", "out"].map(|name| Stream::non_blocking(device, name).unwrap());
    let input = HostBuffer::page_locked(device, LEN).unwrap();
    let mut output = HostBuffer::page_locked(device, LEN).unwrap();
    let mut data = DeviceBuffer::<f32>::new(&h, LEN).unwrap();
    data.fill_bytes(0).unwrap();
    let recording = record::<Error>(device, || {
        data.copy_from(&input)?;
        // SAFETY: this is the bug, and stale bytes are numbers too.
        unsafe { data.assume_ordered_on(&d) };
        data.copy_to(&mut output)
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
    let [h, d] = ["in", "out"].map(|name| Stream::non_blocking(&device, name).unwrap());
    let pool = MemoryPool::new(&device).unwrap();
    let mut data = pool.allocate::<f32>(&h, LEN).unwrap();
    let (recording, _) = reports::collect(|| {
        record::<Error>(&device, || {
            data.fill_bytes(0)?;
            // SAFETY: this is the bug, and stale bytes are numbers too.
            unsafe { data.assume_ordered_on(&d) };
            // Its free is no operation of the recording.
            drop(data);
            Ok(())
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
    let stream = Stream::non_blocking(&device, "work").unwrap();
    let mut data = DeviceBuffer::<f32>::new(&stream, LEN).unwrap();
    let before = range("begun before the recording");
    let recording = record::<Error>(&device, || {
        data.fill_bytes(0)?;
        let _all = range("all");
        {
            let _first = range("first half");
            data.fill_bytes(1)?;
            stream.synchronize()?;
        }
        let _second = range("second half");
        host_clock::threads(&device, 1, |_| {
            let _phase = range("on a thread");
            host_clock::spend(Duration::from_micros(5));
            Ok(())
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
    let stream = Stream::non_blocking(&device, "work").unwrap();
    let mut data = DeviceBuffer::<f32>::new(&stream, LEN).unwrap();
    let watch = Stopwatch::new(&device).unwrap();
    let recording = record::<Error>(&device, || {
        watch.time([&stream], || data.fill_bytes(0)).map(drop)
    });
    let recording = recording.unwrap();
    let [waiting] = &recording.ranges[..] else {
        panic!("{:?}", recording.ranges)
    };
    assert_eq!(waiting.name, "wait for the end");
    assert!(waiting.span.end >= recording.intervals[0].span.end);
}
