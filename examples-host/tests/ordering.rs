//! Order in the types, on the software GPU: what safe code cannot get wrong, and what the unsafe doors let through.

use examples_host::device::Device;
use examples_host::prelude::*;
use libcuda::Choice;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Copies of this many elements take long enough for the host and other streams to get ahead of them.
const LEN: usize = 1024 * 1024;

struct Bench {
    device: Device,
    input: HostBuffer<f32>,
    output: HostBuffer<f32>,
    _alone: MutexGuard<'static, ()>,
}

/// One test at a time: the modelled host then has one thread, and recordings do not mix.
static ALONE: Mutex<()> = Mutex::new(());

impl Bench {
    fn new() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let device = Device::open(Choice::Software).unwrap();
        let mut input = HostBuffer::page_locked(&device, LEN).unwrap();
        Seed::new(7).fill_f32(0, input.write().unwrap());
        let mut output = HostBuffer::page_locked(&device, LEN).unwrap();
        output.poison().unwrap();
        Self {
            device,
            input,
            output,
            _alone: alone,
        }
    }

    fn stream(&self, name: &str) -> Stream {
        Stream::non_blocking(&self.device, name).unwrap()
    }
}

/// What the input holds.
fn input(index: usize) -> f32 {
    Seed::new(7).f32(index)
}

#[test]
fn handing_a_buffer_on_orders_two_streams() {
    let mut bench = Bench::new();
    let [h, d] = ["copy in", "copy out"].map(|name| bench.stream(name));
    let mut data = DeviceBuffer::new(&h, LEN).unwrap();
    data.copy_from(&bench.input).unwrap();
    data.hand_to(&d).unwrap();
    data.copy_to(&mut bench.output).unwrap();
    check::equal("output", 0, bench.output.read().unwrap(), input).unwrap();
}

#[test]
fn the_missing_event_copies_stale_data_and_does_so_every_time() {
    let run = || {
        let mut bench = Bench::new();
        let [h, d] = ["copy in", "copy out"].map(|name| bench.stream(name));
        let mut data = DeviceBuffer::new(&h, LEN).unwrap();
        data.fill_bytes(0).unwrap();
        h.synchronize().unwrap();
        data.copy_from(&bench.input).unwrap();
        // SAFETY: this is the bug, and stale bytes are numbers too.
        unsafe { data.assume_ordered_on(&d) };
        data.copy_to(&mut bench.output).unwrap();
        bench.output.read().unwrap().to_vec()
    };
    let stale = run();
    assert!(stale.iter().all(|&value| value == 0.0));
    assert_eq!(run(), stale);
}

#[test]
fn a_ring_serves_more_chunks_than_it_has_buffers_and_its_streams_overlap() {
    let bench = Bench::new();
    let [h, d] = ["copy in", "copy out"].map(|name| bench.stream(name));
    let inputs = bench.input.split(7).unwrap();
    let mut output = bench.output.split(7).unwrap();
    let mut ring = Ring::new(&h, 2, inputs[0].len()).unwrap();
    let mut overlap = |h: &Stream, d: &Stream| {
        let recording = record::<Error>(&bench.device, || {
            inputs
                .iter()
                .zip(&mut output)
                .try_for_each(|(input, output)| {
                    ring.turn(h, |data| {
                        data.copy_from(input)?;
                        data.hand_to(d)?;
                        data.copy_to(output)
                    })
                })
        })
        .unwrap();
        assert_eq!(recording.of(Engine::HostToDevice).len(), 7);
        assert_eq!(recording.of(Engine::DeviceToHost).len(), 7);
        let bytes: u64 = recording
            .intervals
            .iter()
            .map(|interval| interval.bytes)
            .sum();
        assert_eq!(bytes, 2 * (LEN * size_of::<f32>()) as u64);
        let together = recording.overlap(Engine::HostToDevice, Engine::DeviceToHost);
        let streams: Vec<String> = recording.streams().into_iter().map(str::to_owned).collect();
        (together, streams)
    };
    let (together, streams) = overlap(&h, &d);
    assert!(!together.is_zero());
    assert_eq!(streams, ["copy in", "copy out"]);
    let (together, streams) = overlap(&h, &h);
    assert!(together.is_zero(), "{together:?}");
    assert_eq!(streams, ["copy in"]);
    check::pieces("output", &output, input).unwrap();
    let whole = HostBuffer::join(output).unwrap();
    check::equal("output", 0, whole.read().unwrap(), input).unwrap();
}

#[test]
fn reading_waits_for_the_copy_and_the_early_read_does_not() {
    let mut bench = Bench::new();
    let stream = bench.stream("s");
    let mut data = DeviceBuffer::new(&stream, LEN).unwrap();
    data.copy_from(&bench.input).unwrap();
    data.copy_to(&mut bench.output).unwrap();
    // SAFETY: the test is right for whatever is read.
    let early = unsafe { bench.output.read_unordered() };
    assert!(
        early.iter().all(|value| value.is_nan()),
        "the poison of before"
    );
    check::equal("output", 0, bench.output.read().unwrap(), |i| {
        Seed::new(7).f32(i)
    })
    .unwrap();
}

#[test]
fn writing_waits_for_the_copies_that_read() {
    let mut bench = Bench::new();
    let stream = bench.stream("s");
    let mut data = DeviceBuffer::new(&stream, LEN).unwrap();
    data.copy_from(&bench.input).unwrap();
    bench.input.write().unwrap().fill(0.0);
    data.copy_to(&mut bench.output).unwrap();
    check::equal("output", 0, bench.output.read().unwrap(), |i| {
        Seed::new(7).f32(i)
    })
    .unwrap();
}

#[test]
fn copies_of_two_streams_that_share_host_memory_are_ordered() {
    let mut bench = Bench::new();
    let [a, b] = ["a", "b"].map(|name| bench.stream(name));
    let mut first = DeviceBuffer::new(&a, LEN).unwrap();
    first.copy_from(&bench.input).unwrap();
    first.copy_to(&mut bench.output).unwrap();
    let mut second = DeviceBuffer::new(&b, LEN).unwrap();
    second.copy_from(&bench.output).unwrap();
    let mut copy = HostBuffer::page_locked(&bench.device, LEN).unwrap();
    second.copy_to(&mut copy).unwrap();
    check::equal("copy", 0, copy.read().unwrap(), input).unwrap();
}

#[test]
fn memory_outlives_the_copies_that_use_it() {
    let bench = Bench::new();
    let stream = bench.stream("s");
    let mut output = bench.output;
    for _ in 0..8 {
        let mut data = DeviceBuffer::new(&stream, LEN).unwrap();
        let mut input = HostBuffer::page_locked(&bench.device, LEN).unwrap();
        Seed::new(7).fill_f32(0, input.write().unwrap());
        data.copy_from(&input).unwrap();
        drop(input);
        data.copy_to(&mut output).unwrap();
    }
    check::equal("output", 0, output.read().unwrap(), input).unwrap();
}

#[test]
fn every_kind_of_host_memory_carries_the_same_bytes() {
    let bench = Bench::new();
    let stream = bench.stream("s");
    for memory in [
        HostMemory::Pageable,
        HostMemory::PageLocked,
        HostMemory::Registered,
    ] {
        let mut input = HostBuffer::new(&bench.device, memory, 1000).unwrap();
        Seed::new(1).fill_f32(0, input.write().unwrap());
        let mut output = HostBuffer::new(&bench.device, memory, 1000).unwrap();
        let mut data = DeviceBuffer::new(&stream, 1000).unwrap();
        data.copy_from(&input).unwrap();
        data.copy_to(&mut output).unwrap();
        assert_eq!(output.read().unwrap(), input.read().unwrap(), "{memory}");
    }
}

#[test]
fn another_threads_default_stream_is_refused() {
    let bench = Bench::new();
    let own = Stream::per_thread(&bench.device, "main's").unwrap();
    own.synchronize().unwrap();
    let device = &bench.device;
    let results = host_clock::threads(device, 2, |_| {
        Ok(matches!(own.raw(), Err(Error::ForeignThread(_))))
    });
    assert_eq!(results.unwrap(), [true, true]);
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let bench = Bench::new();
    let stream = bench.stream("s");
    let mut data = DeviceBuffer::<f32>::new(&stream, 16).unwrap();
    assert!(matches!(
        data.copy_from(&bench.input),
        Err(Error::CopyTooLong { room: 16, .. })
    ));
    assert!(matches!(
        DeviceBuffer::<f32>::new(&stream, 0),
        Err(Error::Length { len: 0, .. })
    ));
    assert!(matches!(
        DeviceBuffer::<f32>::new(&stream, usize::MAX),
        Err(Error::Length { .. })
    ));
    assert!(matches!(
        bench.input.split(LEN + 1),
        Err(Error::Split { .. })
    ));
}

#[test]
fn a_function_on_host_memory_comes_between_the_copies_of_other_streams() {
    let mut bench = Bench::new();
    let [h, f, d] = ["out", "function", "in"].map(|name| bench.stream(name));
    let mut from = DeviceBuffer::new(&h, LEN).unwrap();
    let mut to = DeviceBuffer::new(&d, LEN).unwrap();
    from.copy_from(&bench.input).unwrap();
    from.copy_to(&mut bench.output).unwrap();
    let negate = |data: &mut [f32]| data.iter_mut().for_each(|x| *x = -*x);
    f.call_host_on(&mut bench.output, negate).unwrap();
    to.copy_from(&bench.output).unwrap();
    bench.output.poison().unwrap();
    to.copy_to(&mut bench.output).unwrap();
    let negated = |index| -input(index);
    check::equal("output", 0, bench.output.read().unwrap(), negated).unwrap();
}

#[test]
fn who_reads_after_a_turn_does_not_wait_for_what_came_later() {
    let mut bench = Bench::new();
    let stream = bench.stream("stream");
    let mut data = DeviceBuffer::new(&stream, LEN).unwrap();
    data.copy_from(&bench.input).unwrap();
    data.copy_to(&mut bench.output).unwrap();
    bench.output.end_turn().unwrap();
    data.copy_from(&bench.input).unwrap();
    check::equal("output", 0, bench.output.read().unwrap(), input).unwrap();
    assert!(!stream.is_idle().unwrap(), "the reader waited for all");
    stream.synchronize().unwrap();
}

#[test]
fn a_buffer_can_be_made_shorter_and_no_longer_than_its_room() {
    let bench = Bench::new();
    let mut data = DeviceBuffer::<f32>::new(&bench.stream("stream"), 8).unwrap();
    data.set_len(3).unwrap();
    assert_eq!((data.len(), data.capacity()), (3, 8));
    assert!(data.set_len(0).is_err() && data.set_len(9).is_err());
    assert_eq!(data.len(), 3);
}
