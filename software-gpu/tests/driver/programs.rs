//! Random stream programs: ordered by events where they share memory, they compute what a sequential run computes.

use crate::driver_support::*;
use proptest::prelude::*;

/// Bytes of one buffer: enough for copies to overlap in time.
const BYTES: usize = 96 << 10;
const BUFFERS: usize = 4;
const STREAMS: usize = 4;

/// One operation of a program, on buffers of the device and of page-locked memory.
#[derive(Clone, Copy, Debug)]
enum ProgramOperation {
    ToDevice { host: usize, device: usize },
    ToHost { device: usize, host: usize },
    Within { from: usize, to: usize },
    Set { device: usize, value: u8 },
}

impl ProgramOperation {
    /// The buffers read and written; page-locked ones are numbered after those of the device.
    fn buffers(self) -> (Option<usize>, usize) {
        match self {
            Self::ToDevice { host, device } => (Some(BUFFERS + host), device),
            Self::ToHost { device, host } => (Some(device), BUFFERS + host),
            Self::Within { from, to } => (Some(from), to),
            Self::Set { device, .. } => (None, device),
        }
    }
}

/// What to do, in which stream, and whether the host synchronises it afterwards.
type StreamStep = (ProgramOperation, usize, bool);

fn operation() -> impl Strategy<Value = ProgramOperation> {
    let buffer = 0..BUFFERS;
    prop_oneof![
        (buffer.clone(), buffer.clone())
            .prop_map(|(host, device)| ProgramOperation::ToDevice { host, device }),
        (buffer.clone(), buffer.clone())
            .prop_map(|(device, host)| ProgramOperation::ToHost { device, host }),
        (buffer.clone(), buffer.clone())
            .prop_filter("one buffer only", |(from, to)| from != to)
            .prop_map(|(from, to)| ProgramOperation::Within { from, to }),
        (buffer, any::<u8>()).prop_map(|(device, value)| ProgramOperation::Set { device, value }),
    ]
}

fn program() -> impl Strategy<Value = Vec<StreamStep>> {
    prop::collection::vec((operation(), 0..STREAMS, prop::bool::weighted(0.1)), 1..40)
}

/// Every buffer after the steps, one after the other: each buffer holds one value throughout.
fn sequential(steps: &[StreamStep]) -> Vec<u8> {
    let mut values: Vec<u8> = (0..2 * BUFFERS as u8).collect();
    for (operation, ..) in steps {
        let (from, to) = operation.buffers();
        values[to] = match (operation, from) {
            (ProgramOperation::Set { value, .. }, _) => *value,
            (_, Some(from)) => values[from],
            (_, None) => values[to],
        };
    }
    values
}

/// Runs the steps on four streams: non-blocking, two blocking ones, legacy. Before each step its stream waits for the
/// last writer of what it touches, and for the readers of what it writes.
fn simulated(steps: &[StreamStep]) -> Vec<u8> {
    let driver = Driver::new();
    let device = driver.allocate(BUFFERS * BYTES).unwrap();
    let host = driver.pinned(BUFFERS * BYTES);
    let streams = [
        driver.stream(NON_BLOCKING),
        driver.stream(0),
        driver.stream(0),
        LEGACY,
    ];
    let place = |buffer: usize| device + (buffer * BYTES) as u64;
    for buffer in 0..BUFFERS {
        driver
            .set(place(buffer), buffer as u8, BYTES, LEGACY)
            .unwrap();
        // SAFETY: the page-locked memory has room for all buffers.
        unsafe {
            host.at(buffer * BYTES)
                .write_bytes((BUFFERS + buffer) as u8, BYTES)
        };
    }
    driver.synchronize().unwrap();
    let mut writers: Vec<Option<Handle>> = vec![None; 2 * BUFFERS];
    let mut readers: Vec<Vec<Handle>> = vec![Vec::new(); 2 * BUFFERS];
    for (operation, stream, synchronise) in steps {
        let stream = streams[*stream];
        let (from, to) = operation.buffers();
        let before = from
            .and_then(|from| writers[from])
            .into_iter()
            .chain(writers[to])
            .chain(readers[to].drain(..));
        for event in before.collect::<Vec<_>>() {
            driver.wait(stream, event).unwrap();
        }
        match *operation {
            ProgramOperation::ToDevice {
                host: from,
                device: to,
            } => driver.to_device(place(to), host.at(from * BYTES), BYTES, stream),
            ProgramOperation::ToHost {
                device: from,
                host: to,
            } => driver.to_host(host.at(to * BYTES), place(from), BYTES, stream),
            ProgramOperation::Within { from, to } => {
                driver.within_device(place(to), place(from), BYTES, stream)
            }
            ProgramOperation::Set { device: to, value } => {
                driver.set(place(to), value, BYTES, stream)
            }
        }
        .unwrap();
        let event = driver.event_with(DISABLE_TIMING).unwrap();
        driver.record(event, stream).unwrap();
        writers[to] = Some(event);
        if let Some(from) = from {
            readers[from].push(event);
        }
        if *synchronise {
            driver.stream_synchronize(stream).unwrap();
        }
    }
    driver.synchronize().unwrap();
    let uniform = |bytes: &[u8]| {
        assert!(
            bytes.iter().all(|byte| *byte == bytes[0]),
            "a buffer was seen half written"
        );
        bytes[0]
    };
    let on_device = driver.read(device, BUFFERS * BYTES);
    let on_host = host.bytes();
    on_device
        .chunks(BYTES)
        .chain(on_host.chunks(BYTES))
        .map(uniform)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_ordered_program_computes_what_a_sequential_one_does(steps in program()) {
        prop_assert_eq!(simulated(&steps), sequential(&steps));
    }
}
