//! What following a program costs, per operation.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use software_gpu::memory::Accesses;
use software_gpu::order::{
    Checker, ContextId, Description, EventId, OperationId, StreamId, StreamKind, ThreadId,
};

const OPERATIONS: u64 = 20_000;
const HOST: ThreadId = ThreadId::UNREGISTERED;
const BUFFER: u64 = 1 << 20;

fn main() {
    divan::main();
}

fn checker(streams: u64) -> Checker {
    let mut checker = Checker::new();
    checker.context_created(HOST, ContextId(1), StreamId(1_000_000));
    for stream in 0..streams {
        checker.stream_created(
            HOST,
            StreamId(stream),
            ContextId(1),
            StreamKind::NonBlocking,
        );
        checker.allocated(buffer(stream), Description::new("buffer"));
    }
    checker
}

fn buffer(stream: u64) -> std::ops::Range<u64> {
    stream * BUFFER..(stream + 1) * BUFFER
}

/// Reads of the lower half of the stream's buffer and writes of the upper one, in this many pieces each.
fn accesses(stream: u64, pieces: u64) -> Accesses {
    let width = BUFFER / 2 / pieces;
    let start = buffer(stream).start;
    let piece = |start: u64| {
        move |index: u64| start + index * width..start + index * width + width.div_ceil(2)
    };
    let whole = |start: u64| start..start + BUFFER / 2;
    let half = |start: u64| match pieces {
        1 => whole(start).into(),
        _ => (0..pieces).map(piece(start)).collect(),
    };
    Accesses {
        reads: half(start),
        writes: half(start + BUFFER / 2),
        ..Accesses::default()
    }
}

/// Kernels in all streams in turn, each on its own buffer; the host waits for each stream now and then.
fn run(streams: u64, operations: u64, accesses: &[Accesses]) -> Checker {
    let mut checker = checker(streams);
    for index in 0..operations {
        let stream = index % streams;
        let operation = OperationId(index);
        checker.submitted(
            HOST,
            StreamId(stream),
            operation,
            &[],
            Description::new("kernel"),
        );
        checker.accessed(operation, &accesses[stream as usize]);
        checker.ended(operation);
        if index % 1024 == 0 {
            checker.stream_synchronized(HOST, StreamId(stream));
        }
    }
    assert!(checker.take_findings().is_empty());
    checker
}

#[divan::bench(args = [1, 8, 128], sample_count = 5)]
fn contiguous(bencher: Bencher, streams: u64) {
    let accesses: Vec<_> = (0..streams).map(|stream| accesses(stream, 1)).collect();
    bencher
        .counter(ItemsCount::new(OPERATIONS))
        .bench_local(|| run(black_box(streams), OPERATIONS, &accesses));
}

/// Each kernel touches 2 x 1000 ranges.
#[divan::bench(args = [1, 8, 128], sample_count = 5)]
fn fragmented(bencher: Bencher, streams: u64) {
    const FEWER: u64 = OPERATIONS / 20;
    let accesses: Vec<_> = (0..streams).map(|stream| accesses(stream, 1000)).collect();
    bencher
        .counter(ItemsCount::new(FEWER))
        .bench_local(|| run(black_box(streams), FEWER, &accesses));
}

/// A pipeline: each operation goes to the next stream, behind an event, and works on the same buffer.
#[divan::bench(args = [1, 8, 128], sample_count = 5)]
fn behind_events(bencher: Bencher, streams: u64) {
    let accesses = accesses(0, 1);
    bencher
        .counter(ItemsCount::new(OPERATIONS))
        .bench_local(|| {
            let mut checker = checker(black_box(streams));
            for index in 0..OPERATIONS {
                let stream = StreamId(index % streams);
                checker.waited(HOST, stream, EventId(1));
                let operation = OperationId(index);
                checker.submitted(HOST, stream, operation, &[], Description::new("kernel"));
                checker.recorded(EventId(1), stream, operation);
                checker.accessed(operation, &accesses);
                checker.ended(operation);
            }
            assert!(checker.take_findings().is_empty());
            checker
        });
}

/// A copy fills a buffer and a kernel reads this many ranges of it, different ones each time.
#[divan::bench(args = [1_000, 10_000, 100_000], sample_count = 5)]
fn scattered_over_a_copy(bencher: Bencher, pieces: u64) {
    const ROUNDS: u64 = 20;
    let copy = Accesses {
        writes: (0..pieces * 16 + ROUNDS).into(),
        ..Accesses::default()
    };
    let piece = |round: u64| move |index: u64| index * 16 + round..index * 16 + round + 4;
    let kernels: Vec<_> = (0..ROUNDS)
        .map(|round| Accesses {
            reads: (0..pieces).map(piece(round)).collect(),
            ..Accesses::default()
        })
        .collect();
    bencher
        .counter(ItemsCount::new(ROUNDS * pieces))
        .bench_local(|| {
            let mut checker = checker(1);
            for (index, accesses) in kernels
                .iter()
                .flat_map(|kernel| [&copy, kernel])
                .enumerate()
            {
                let operation = OperationId(index as u64);
                let description = Description::new("operation");
                checker.submitted(HOST, StreamId(0), operation, &[], description);
                checker.accessed(operation, black_box(accesses));
                checker.ended(operation);
            }
            assert!(checker.take_findings().is_empty());
            checker
        });
}

/// Kernels of which each writes 64 ranges of its own in one allocation, and nothing waits: one after the other, and so that
/// those of 16 kernels lie between each other.
#[divan::bench(args = [100, 1_000, 10_000], consts = [1, 16, 256], sample_count = 5)]
fn scattered_elsewhere<const TOGETHER: u64>(bencher: Bencher, kernels: u64) {
    const RANGES: u64 = 64;
    let accesses = |kernel: u64| {
        let (block, own) = (kernel / TOGETHER, kernel % TOGETHER);
        let range = |index: u64| ((block * RANGES + index) * TOGETHER + own) * 16;
        Accesses {
            writes: (0..RANGES).map(|i| range(i)..range(i) + 4).collect(),
            ..Accesses::default()
        }
    };
    let kernels: Vec<_> = (0..kernels).map(accesses).collect();
    bencher
        .counter(ItemsCount::new(kernels.len() as u64 * RANGES))
        .bench_local(|| write_all(&kernels));
}

/// Kernels that each write 64 ranges anywhere in one allocation, and nothing waits.
#[divan::bench(args = [100, 1_000, 10_000], sample_count = 5)]
fn scattered_anywhere(bencher: Bencher, kernels: u64) {
    const RANGES: u64 = 64;
    let mut place = 0_u64;
    let mut range = || {
        place = place.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        let start = (place >> 44) * 4;
        start..start + 4
    };
    let accesses = |_| Accesses {
        writes: (0..RANGES).map(|_| range()).collect(),
        ..Accesses::default()
    };
    let kernels: Vec<_> = (0..kernels).map(accesses).collect();
    bencher
        .counter(ItemsCount::new(kernels.len() as u64 * RANGES))
        .bench_local(|| write_all(&kernels));
}

/// Each kernel in one stream.
fn write_all(kernels: &[Accesses]) -> Checker {
    let mut checker = checker(1);
    checker.allocated(0..1 << 30, Description::new("buffer"));
    for (index, accesses) in kernels.iter().enumerate() {
        let operation = OperationId(index as u64);
        let description = Description::new("kernel");
        checker.submitted(HOST, StreamId(0), operation, &[], description);
        checker.accessed(operation, black_box(accesses));
        checker.ended(operation);
    }
    assert!(checker.take_findings().is_empty());
    checker
}

/// Each stream writes the same bytes once, without any order.
#[divan::bench(args = [100, 1_000, 10_000], sample_count = 3)]
fn races_of_all_streams(bencher: Bencher, streams: u64) {
    let access = Accesses {
        writes: buffer(0).into(),
        ..Accesses::default()
    };
    bencher.counter(ItemsCount::new(streams)).bench_local(|| {
        let mut checker = checker(black_box(streams));
        let mut found = 0;
        for index in 0..streams {
            let operation = OperationId(index);
            let description = Description::new("memset");
            checker.submitted(HOST, StreamId(index), operation, &[], description);
            checker.accessed(operation, &access);
            checker.ended(operation);
            found += checker.take_findings().len();
        }
        found
    });
}

/// Kernels in all streams in turn, which all read one buffer.
#[divan::bench(args = [1, 8, 128, 2048], sample_count = 5)]
fn one_buffer_for_all(bencher: Bencher, streams: u64) {
    let reads = Accesses {
        reads: buffer(0).into(),
        ..Accesses::default()
    };
    let accesses = vec![reads; streams as usize];
    bencher
        .counter(ItemsCount::new(OPERATIONS))
        .bench_local(|| run(black_box(streams), OPERATIONS, &accesses));
}
