//! How fast kernels execute on the host: thread instructions and bytes per second.
//!
//! `fma` is arithmetic alone, `stream` is bound by memory and the pages that a `WriteHold` keeps, `reduction` has
//! shuffles, barriers and atomics. Each is run without and with the checkers.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use software_gpu::exec::{Executable, Grid, Latencies, execute, execute_checked};
use software_gpu::memory::{AddressSpace, AllocationKind, WriteHold};
use software_gpu::ptx;
use software_gpu::timeline::Profile;

const EXAMPLES: &str = include_str!("../../gpu-kernels/ptx/sm_70.ptx");
const BLOCK: u32 = 256;

/// How a kernel is run: on how many host threads, and with the checkers or without.
#[derive(Clone, Copy, Debug)]
struct RunSettings {
    threads: usize,
    checked: bool,
}

const RUNS: [RunSettings; 4] = [run(1, false), run(1, true), run(2, false), run(2, true)];

const fn run(threads: usize, checked: bool) -> RunSettings {
    RunSettings { threads, checked }
}

fn main() {
    divan::main();
}

struct Machine {
    module: Executable,
    space: AddressSpace,
    data: [u64; 2],
    elements: u64,
}

impl Machine {
    fn new(elements: u64) -> Self {
        let module = ptx::parse(EXAMPLES).expect("is PTX");
        let module = Executable::new(&module, Latencies::of(&Profile::h200()), &|_| None)
            .expect("is understood");
        let mut space = AddressSpace::new(&[1 << 32], 0);
        let bytes = elements as usize * 4;
        let data = [(); 2].map(|()| {
            space
                .allocate(0, bytes, AllocationKind::Device)
                .expect("fits")
        });
        Self {
            module,
            space,
            data,
            elements,
        }
    }

    /// Launches a kernel once; returns the thread instructions executed.
    fn run(&self, kernel: &str, blocks: u32, parameters: &[u64], run: RunSettings) -> u64 {
        let grid = Grid {
            kernel: self.module.kernel(kernel).expect("exists"),
            grid: [blocks, 1, 1],
            block: [BLOCK, 1, 1],
            cluster: None,
            cooperative: false,
            dynamic_shared_bytes: 0,
            parameters: bytemuck::cast_slice(parameters),
            start_ns: 0,
            clock_mhz: 1980.0,
            compute_capability: (9, 0),
            multiprocessors: 132,
            instruction_budget: u64::MAX,
            stack_limit: 1024,
            threads: run.threads,
        };
        let hold = WriteHold::new(&self.space);
        let cost = if run.checked {
            let (cost, observed) = execute_checked(&grid, &hold);
            black_box(observed);
            cost
        } else {
            execute(&grid, &hold)
        };
        let cost = cost.expect("runs");
        // As the driver does when no other operation reads the memory meanwhile.
        hold.suspend().land(&self.space);
        cost.warp_instructions() * 32
    }

    fn bench(
        &self,
        bencher: Bencher<'_, '_>,
        kernel: &str,
        blocks: u32,
        parameters: &[u64],
        run: RunSettings,
    ) {
        let instructions = self.run(kernel, blocks, parameters, run);
        bencher
            .counter(ItemsCount::new(instructions))
            .bench_local(|| black_box(self.run(kernel, blocks, parameters, run)));
    }
}

#[divan::bench(args = RUNS)]
fn fma(bencher: Bencher<'_, '_>, run: RunSettings) {
    let m = Machine::new(1 << 16);
    let blocks = m.elements as u32 / BLOCK;
    m.bench(
        bencher,
        "fma_chain",
        blocks,
        &[m.data[0], m.elements, m.data[1], 1024],
        run,
    );
}

#[divan::bench(args = RUNS)]
fn stream(bencher: Bencher<'_, '_>, run: RunSettings) {
    let m = Machine::new(1 << 24);
    let blocks = m.elements as u32 / BLOCK;
    let bencher = bencher.counter(BytesCount::new(m.elements * 8));
    m.bench(
        bencher,
        "affine",
        blocks,
        &[m.data[0], m.elements, 0x3f80_0000_3f80_0000],
        run,
    );
}

#[divan::bench(args = RUNS)]
fn stream_x4(bencher: Bencher<'_, '_>, run: RunSettings) {
    let m = Machine::new(1 << 24);
    let blocks = m.elements as u32 / BLOCK / 4;
    let bencher = bencher.counter(BytesCount::new(m.elements * 8));
    m.bench(
        bencher,
        "affine_x4",
        blocks,
        &[m.data[0], m.elements, 0x3f80_0000_3f80_0000],
        run,
    );
}

#[divan::bench(args = RUNS)]
fn reduction(bencher: Bencher<'_, '_>, run: RunSettings) {
    let m = Machine::new(1 << 24);
    let bencher = bencher.counter(BytesCount::new(m.elements * 4));
    m.bench(
        bencher,
        "sum",
        264,
        &[m.data[0], m.elements, m.data[1]],
        run,
    );
}
