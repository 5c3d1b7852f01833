//! Any sequence of calls: an error code or success, never a panic.
#![no_main]

use fuzz::{calls, mutate};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|data: &[u8]| calls::run(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed.is_multiple_of(3) {
        fuzzer_mutate(data, size, max_size)
    } else {
        mutate::calls(data, size, max_size, seed)
    }
});
