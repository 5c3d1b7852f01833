//! Runs small kernels on the software GPU: what synchronises and copies does so.

#[path = "../../../../software-gpu/tests/exec_support/mod.rs"]
mod exec_support;

use exec_support::{ParameterBytes, TestDevice, TestLaunch, latencies, launch};
use software_gpu::exec::Executable;
use software_gpu::ptx;

/// The source of the kernels of sm_80 and later.
pub const AMPERE: &str = include_str!("ampere.rs");

/// The source of those of sm_90 and later, which goes behind the other.
pub const HOPPER: &str = include_str!("hopper.rs");

/// Threads per block.
const THREADS: u32 = 64;

/// What thread `i` of a kernel has to leave, given inputs of `100 + i`; for `named_barriers` the first warp leaves nothing.
type ExpectedValue = fn(u32) -> u32;

/// A kernel, its blocks, its parameters' number, and the outcome.
type KernelCase = (&'static str, u32, bool, ExpectedValue);

/// The expected results of [`AMPERE`].
pub const ON_AMPERE: &[KernelCase] = &[
    ("named_barriers", 1, true, |i| {
        if i < 32 { 0 } else { 100 + i - 32 }
    }),
    ("mbarriers", 1, true, |i| 100 + 63 - i + 3),
    ("async_copies", 1, false, |i| 100 + i),
    ("reductions", 1, true, |i| {
        let first = 100 + i / 32 * 32;
        32 * first + 31 * 32 / 2 + 31
    }),
    ("atomics", 1, true, |i| {
        let sum = 64 * 100 + 63 * 64 / 2;
        [sum, 163, 64, 128][i as usize % 4] - 1
    }),
    ("upstream_copies", 1, true, |i| 100 + 63 - i + 100 + i + 32),
];

/// The expected results of [`HOPPER`].
pub const ON_HOPPER: &[KernelCase] = &[
    ("phases", 1, true, |i| 100 + i + 3),
    ("bulk_copies", 1, false, |i| 100 + i + 1),
    // Four blocks are two clusters of two.
    ("clusters", 4, true, |i| {
        let (block, thread) = (i / THREADS, i % THREADS);
        let other = block ^ 1;
        100 + other * THREADS + thread + 1000 * (other % 2) + 22 + block / 2
    }),
    ("cluster_copies", 4, true, |i| 100 + (i ^ THREADS)),
    // Both blocks of a cluster see the words of its first one.
    ("multicasts", 4, true, |i| {
        let (block, thread) = (i / THREADS, i % THREADS);
        100 + block / 2 * 2 * THREADS + thread + block % 2
    }),
];

/// Runs these kernels of a module.
pub fn run_all(ptx: &str, runs: &[KernelCase]) {
    let module = ptx::parse(ptx).unwrap_or_else(|error| panic!("{error}"));
    // Only the messages of panics are in global variables, and these kernels have no panics.
    let module = Executable::new(&module, latencies(), &|_| Some(0));
    let module = module.unwrap_or_else(|error| panic!("{error}"));
    for &(kernel, blocks, has_length, expected) in runs {
        let mut device = TestDevice::new();
        let input: Vec<u32> = (0..blocks * THREADS).map(|i| 100 + i).collect();
        let (out, data) = (
            device.upload(&vec![0_u32; input.len()]),
            device.upload(&input),
        );
        let mut parameters = ParameterBytes::default().with(out).with(data);
        if has_length {
            parameters = parameters.with(input.len() as u64);
        }
        let shape = TestLaunch {
            cluster: (blocks > 1).then_some([2, 1, 1]),
            ..launch(blocks, THREADS)
        };
        let (cost, observed) = device.run_checked(&module, kernel, shape, &parameters);
        cost.unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(observed.shared_races, [], "{kernel}");
        let found: Vec<u32> = device.download(out, input.len());
        let expected: Vec<u32> = (0..blocks * THREADS).map(expected).collect();
        assert_eq!(found, expected, "{kernel}");
    }
}
