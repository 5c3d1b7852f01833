//! From PTX text to executed kernels, without driver and time.

use software_gpu::exec::{Executable, ExecutableKernel, Grid, Latencies, execute_checked};
use software_gpu::memory::{AddressSpace, AllocationKind, WriteHold};
use software_gpu::ptx::{self, Module};
use software_gpu::timeline::Profile;
use std::sync::LazyLock;

/// Longer texts only make each run slower.
pub const MAX_TEXT: usize = 64 << 10;
/// The separator of the modules of a text.
const NEXT_MODULE: &str = "//next";
/// Warp instructions that a block may execute.
const BUDGET: u64 = 3000;
/// Bytes of each buffer that a kernel gets a pointer to.
const BUFFER: usize = 16 << 10;
/// No GPU launches kernels with larger parameter buffers.
const MAX_PARAMETERS: usize = 32 << 10;
/// Kernels of a module that are run.
const MAX_KERNELS: usize = 4;

/// The default device's.
static LATENCIES: LazyLock<Latencies> = LazyLock::new(|| Latencies::of(&Profile::h200()));

/// Parses, lowers and runs what `data` says: a text of PTX, and in the bits of `choice` how its kernels are launched.
pub fn run(text: &str, choice: u64) {
    let Some(module) = module(text) else { return };
    let mut memory = AddressSpace::new(&[1 << 32], 1 << 20);
    let mut buffer = || memory.allocate(0, BUFFER, AllocationKind::Device).ok();
    let (Some(globals), Some(first), Some(second)) = (buffer(), buffer(), buffer()) else {
        return;
    };
    let address = |name: &str| address_of(&module, name, globals);
    let Ok(executable) = Executable::new(&module, *LATENCIES, &address) else {
        return;
    };
    let launches = executable.kernels().iter().take(MAX_KERNELS);
    for (index, kernel) in launches.enumerate() {
        launch(
            &memory,
            kernel,
            [first, second],
            choice.rotate_left(7 * index as u32),
        );
    }
}

/// What a text says: several modules are linked.
fn module(text: &str) -> Option<Module> {
    let parsed: Result<Vec<_>, _> = text.split(NEXT_MODULE).map(ptx::parse).collect();
    let mut modules = parsed.ok()?;
    if modules.len() == 1 {
        return modules.pop();
    }
    let named = modules.into_iter().enumerate();
    ptx::link(
        named
            .map(|(number, module)| (number.to_string(), module))
            .collect(),
    )
    .ok()
}

/// Global variables lie over each other: what matters is that the kernel reaches mapped memory.
fn address_of(module: &Module, name: &str, globals: u64) -> Option<u64> {
    module
        .globals
        .iter()
        .any(|variable| variable.name == name)
        .then_some(globals)
}

fn launch(memory: &AddressSpace, kernel: &ExecutableKernel, buffers: [u64; 2], choice: u64) {
    let bytes = kernel.parameter_bytes();
    if bytes > MAX_PARAMETERS {
        return;
    }
    let bit = |at: u32| choice >> at & 1 != 0;
    let parameters = parameters(kernel, bytes, buffers, choice);
    let threads = [1, 32, 33, 64, 7, 96, 128, 256][(choice >> 8 & 7) as usize];
    let grid = Grid {
        kernel,
        grid: [1 + (choice & 1) as u32 * 3, 1 + (choice >> 1 & 1) as u32, 1],
        block: kernel.required_threads().unwrap_or(if bit(2) {
            [threads, 1, 1]
        } else {
            [4, threads / 8 + 1, 2]
        }),
        cluster: bit(3).then_some([1 + (choice & 1) as u32, 1, 1]),
        cooperative: bit(4),
        dynamic_shared_bytes: if bit(5) { 1024 } else { 0 },
        parameters: &parameters,
        start_ns: 1_000_000,
        clock_mhz: 1980.0,
        compute_capability: (9, 0),
        multiprocessors: 132,
        instruction_budget: BUDGET,
        stack_limit: 1024,
        threads: 1,
    };
    let hold = WriteHold::new(memory);
    if let (Ok(_), _) = execute_checked(&grid, &hold) {
        hold.finish().land(memory);
    }
}

/// Pointers to the buffers where 8 bytes are wanted, else small numbers; now and then neither.
fn parameters(kernel: &ExecutableKernel, bytes: usize, buffers: [u64; 2], choice: u64) -> Vec<u8> {
    let mut filled = vec![0; bytes];
    for (index, parameter) in kernel.parameters().iter().enumerate() {
        let value = match (
            parameter.bytes,
            choice.rotate_right(index as u32) >> 40 & 15,
        ) {
            (_, 15) => choice,
            (8, 0) => 100,
            (8, more) => buffers[index & 1] + (more & 1) * 0x100,
            (_, more) => [0, 1, 5, 32, 64, 100, 1000, u64::MAX][(more & 7) as usize],
        };
        let start = parameter.offset as usize;
        let place = filled.get_mut(start..start + (parameter.bytes as usize).min(8));
        if let Some(place) = place {
            let len = place.len();
            place.copy_from_slice(&value.to_le_bytes()[..len]);
        }
    }
    filled
}
