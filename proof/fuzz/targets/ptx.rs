//! Any text: a module or an error; and what is a module, runs or faults.
#![no_main]

use fuzz::{kernels, mutate};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

/// FNV-1a: the launches of a text depend on all of it.
fn hash(data: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    data.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fuzz_target!(|data: &[u8]| {
    if data.len() <= kernels::MAX_TEXT {
        kernels::run(&String::from_utf8_lossy(data), hash(data));
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed.is_multiple_of(4) {
        fuzzer_mutate(data, size, max_size)
    } else {
        mutate::ptx(data, size, max_size, seed)
    }
});
