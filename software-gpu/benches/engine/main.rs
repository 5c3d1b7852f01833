//! How fast the kernels that courses begin with are, beside the same algorithms in C: `cargo bench -p software-gpu --bench engine`.
//!
//! `reference.c` is compiled by the machine's C compiler with `-O3` and runs on the same inputs in the same process. Both use one
//! thread, and CPU time is measured: the best of several runs, kernel and loop in turn. The results of one run each are compared.
//! A word on the command line selects the kernels that have it in their names; `--test` runs each once.

mod cases;
mod reference;

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use software_gpu::exec::{Executable, Grid, Latencies, execute, execute_checked};
use software_gpu::memory::{AddressSpace, AllocationKind, WriteHold};
use software_gpu::{ptx, timeline::Profile};

use cases::{EngineCase, Inputs, Results};
use reference::Reference;

/// How long one kernel and its loop are repeated.
const PATIENCE: Duration = Duration::from_secs(2);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let once = arguments.iter().any(|argument| argument == "--test");
    let words: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let inputs = Inputs::new();
    let Some(reference) = Reference::compile() else {
        println!("engine: no C compiler, so nothing to compare with (set CC)");
        return;
    };
    let machine = Machine::new(&inputs);
    println!("kernel               C, ms   ours, ms  times C   checked / off");
    let mut ratios = Vec::new();
    for case in cases::all(&machine.buffers) {
        if !words.is_empty() && !words.iter().any(|word| case.name.contains(word.as_str())) {
            continue;
        }
        compare(&machine, &reference, &inputs, &case);
        let [c, off, checked] = time(&machine, &reference, &inputs, &case, once);
        let ratio = off / c;
        ratios.push(ratio.ln());
        println!(
            "{:16} {:9.3} {:10.3} {ratio:8.1} {:15.2}",
            case.name,
            1e3 * c,
            1e3 * off,
            checked / off
        );
    }
    let mean = (ratios.iter().sum::<f64>() / ratios.len().max(1) as f64).exp();
    println!("geometric mean {:31.1}", mean);
}

/// CPU seconds of the loop, of the kernel, and of the kernel with the checkers: the best of each.
fn time(
    machine: &Machine,
    reference: &Reference,
    inputs: &Inputs,
    case: &EngineCase,
    once: bool,
) -> [f64; 3] {
    let mut buffers = inputs.copies();
    let mut best = [f64::MAX; 3];
    let began = Instant::now();
    for round in 0.. {
        let work: [&mut dyn FnMut(); 3] = [
            &mut || reference.run(case.name, &mut buffers),
            &mut || machine.run(case, false),
            &mut || machine.run(case, true),
        ];
        for (best, work) in best.iter_mut().zip(work) {
            let start = ProcessTime::now();
            work();
            *best = best.min(start.elapsed().as_secs_f64());
        }
        if once || round >= 2 && began.elapsed() > PATIENCE {
            break;
        }
    }
    best
}

/// Panics if one run of both from the same inputs does not give the same results.
fn compare(machine: &Machine, reference: &Reference, inputs: &Inputs, case: &EngineCase) {
    let mut buffers = inputs.copies();
    reference.run(case.name, &mut buffers);
    machine.fill(inputs);
    machine.run(case, true);
    for (expected, address) in buffers.floats.iter().zip(machine.buffers) {
        let expected: &[u32] = bytemuck::cast_slice(expected);
        let found = machine.words(address, expected.len());
        let wrong = match case.results {
            Results::Floats => differences(expected, &found, |[x], [y]| {
                near(f32::from_bits(x).into(), f32::from_bits(y).into())
            }),
            Results::Doubles => differences(expected, &found, |x, y| {
                let [x, y] = [x, y].map(|words: [u32; 2]| f64::from_bits(bytemuck::cast(words)));
                near(x, y)
            }),
            Results::Counts | Results::MostlyCounts => {
                differences(expected, &found, |x: [u32; 1], y| x == y)
            }
        };
        let allowed = match case.results {
            Results::MostlyCounts => expected.len() / 1000,
            _ => 0,
        };
        assert!(
            wrong <= allowed,
            "{}: {wrong} results differ from those of C",
            case.name
        );
    }
}

/// How many elements of `WORDS` words are not the `same`.
fn differences<const WORDS: usize>(
    expected: &[u32],
    found: &[u32],
    same: impl Fn([u32; WORDS], [u32; WORDS]) -> bool,
) -> usize {
    let (expected, _) = expected.as_chunks::<WORDS>();
    let (found, _) = found.as_chunks::<WORDS>();
    let pairs = expected.iter().zip(found);
    pairs.filter(|(x, y)| !same(**x, **y)).count()
}

/// Whether sums are equal up to their rounding.
fn near(x: f64, y: f64) -> bool {
    x == y || (x - y).abs() <= 2e-3 * x.abs().max(1e-3)
}

/// A device memory with the inputs, and the kernels.
struct Machine {
    module: Executable,
    space: AddressSpace,
    /// The errors of [`cases::Buffers::floats`], then the indices.
    buffers: [u64; 5],
}

impl Machine {
    fn new(inputs: &Inputs) -> Self {
        let mut space = AddressSpace::new(&[1 << 32], 0);
        let mut allocate = |bytes: usize| {
            let base = space.allocate(0, bytes, AllocationKind::Device);
            base.expect("fits")
        };
        let buffers = [(); 5].map(|()| allocate(4 * cases::ELEMENTS));
        let module = ptx::parse(include_str!("kernels.ptx")).expect("is PTX");
        let latencies = Latencies::of(&Profile::h200());
        let module = Executable::new(&module, latencies, &|_| None);
        let machine = Self {
            module: module.expect("is understood"),
            space,
            buffers,
        };
        machine.fill(inputs);
        machine
    }

    /// Writes the inputs.
    fn fill(&self, inputs: &Inputs) {
        let indices = [&inputs.index, &inputs.permutation].map(|words| words.as_slice());
        let floats = inputs
            .floats
            .each_ref()
            .map(|floats| bytemuck::cast_slice(floats));
        for (address, words) in self.buffers.iter().zip(floats.into_iter().chain(indices)) {
            self.write(*address, words);
        }
    }

    fn write(&self, address: u64, words: &[u32]) {
        let bytes = size_of_val(words);
        let to = self.space.storage(address, bytes).expect("is mapped");
        // SAFETY: `storage` checked the range, and no kernel runs.
        unsafe { to.copy_from_nonoverlapping(words.as_ptr().cast(), bytes) };
        self.space
            .mark_written(&(address..address + bytes as u64).into());
    }

    fn words(&self, address: u64, count: usize) -> Vec<u32> {
        let from = self.space.storage(address, 4 * count).expect("is mapped");
        let mut words = vec![0_u32; count];
        // SAFETY: `storage` checked the range, and no kernel runs.
        unsafe { from.copy_to_nonoverlapping(words.as_mut_ptr().cast(), 4 * count) };
        words
    }

    /// Launches a kernel once, on this thread.
    fn run(&self, case: &EngineCase, checked: bool) {
        let kernel = self.module.kernel(case.name).expect("exists");
        let mut parameters = vec![0_u8; kernel.parameter_bytes()];
        for (parameter, value) in kernel.parameters().iter().zip(&case.parameters) {
            let (offset, bytes) = (parameter.offset as usize, parameter.bytes as usize);
            parameters[offset..offset + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
        let grid = Grid {
            kernel,
            grid: case.grid,
            block: case.block,
            cluster: None,
            cooperative: false,
            dynamic_shared_bytes: 0,
            parameters: &parameters,
            start_ns: 0,
            clock_mhz: 1980.0,
            compute_capability: (9, 0),
            multiprocessors: 132,
            instruction_budget: u64::MAX,
            stack_limit: 1024,
            threads: 1,
        };
        let hold = WriteHold::new(&self.space);
        let cost = match checked {
            true => execute_checked(&grid, &hold).0,
            false => execute(&grid, &hold),
        };
        cost.expect("runs");
        // As the driver does when no other operation reads the memory meanwhile.
        hold.suspend().land(&self.space);
    }
}
