//! The simulation's own speed.

use software_gpu::timeline::{
    BlockTime, CopyKind, Happening, KernelCost, OperationStage, Profile, Time, Timeline,
};

const OPERATIONS: u64 = 100_000;

fn main() {
    divan::main();
}

fn block() -> BlockTime {
    BlockTime {
        latency_cycles: 815.0,
        issue: [80, 8, 0, 8, 0, 8, 16, 8, 0, 0],
        dram_bytes: 2048,
        ..BlockTime::default()
    }
}

fn kernel(blocks: u64) -> OperationStage {
    OperationStage::Kernel {
        blocks,
        threads_per_block: 256,
        registers_per_thread: 32,
        shared_bytes_per_block: 0,
    }
}

/// Submits that many operations, `work(i)`, to `streams` streams in turn, a microsecond apart, and steps to the end.
fn run(streams: u64, operations: u64, work: impl Fn(u64) -> OperationStage) -> Time {
    let mut timeline = Timeline::new(&[Profile::h200()], 8);
    let streams: Vec<_> = (0..streams).map(|_| timeline.add_stream(0, 0)).collect();
    for i in 0..operations {
        let stream = streams[(i % streams.len() as u64) as usize];
        timeline.submit(stream, Time::from_nanos(i * 1_000), work(i), &[]);
    }
    let mut end = Time::ZERO;
    while let Some(happening) = timeline.step(Time::MAX) {
        match happening {
            Happening::Started { op, .. } => {
                if let OperationStage::Kernel { blocks, .. } = work(op.index()) {
                    timeline.set_kernel_cost(op, KernelCost::uniform(blocks, block()));
                }
            }
            Happening::Ended { at, .. } => end = at,
        }
    }
    end
}

#[divan::bench(args = [1, 4, 32], sample_count = 3)]
fn copies_and_small_kernels(streams: u64) -> Time {
    run(streams, OPERATIONS, |i| match i % 4 {
        0 => OperationStage::Copy {
            kind: CopyKind::HostToDevice,
            bytes: 1 << 20,
            rows: 1,
            pageable: false,
        },
        1 => kernel(1024),
        2 => OperationStage::Copy {
            kind: CopyKind::DeviceToHost,
            bytes: 1 << 20,
            rows: 1,
            pageable: false,
        },
        _ => OperationStage::Marker,
    })
}

#[divan::bench(args = [1, 8, 128], sample_count = 3)]
fn kernels_of_16_blocks(streams: u64) -> Time {
    run(streams, OPERATIONS, |_| kernel(16))
}

#[divan::bench(args = [1, 8], sample_count = 3)]
fn kernels_of_a_million_blocks(streams: u64) -> Time {
    run(streams, 1_000, |_| kernel(1_000_000))
}
