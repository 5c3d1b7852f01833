//! Kernels whose duration is an argument.

use cuda_std::extensions::global_timer;
use cuda_std::prelude::*;

/// Each block's first thread waits `ns` nanoseconds on the device's global timer, then stores the block's index:
/// `out[block] = block`.
#[kernel]
pub unsafe fn spin(ns: u64, out: *mut u32) {
    if thread::thread_idx_x() == 0 {
        let start = global_timer();
        while global_timer() - start < ns {}
        let block = thread::block_idx_x();
        // SAFETY: out has an element for every block.
        unsafe { *out.add(block as usize) = block };
    }
}

/// As [`spin`](fn@spin), in blocks whose other threads wait for the first: until it ends, a block holds room for all its threads. It
/// looks at the timer only as often as a load from memory takes, which leaves the multiprocessor to others.
#[kernel]
pub unsafe fn hold(ns: u64, out: *mut u32) {
    /// No block has this number.
    const NEVER: u32 = u32::MAX - 1;
    if thread::thread_idx_x() == 0 {
        let block = thread::block_idx_x();
        let start = global_timer();
        // SAFETY: out has an element for every block.
        let place = unsafe { out.add(block as usize) };
        // SAFETY: as above; the value read does not matter.
        while global_timer() - start < ns && unsafe { place.read_volatile() } != NEVER {}
        // SAFETY: as above.
        unsafe { place.write(block) };
    }
    thread::sync_threads();
}

/// As [`hold`](fn@hold), with [`HELD_REGISTERS`] numbers of each thread in registers meanwhile: the first of `values`, which are as many. What
/// they add up to comes on top of the block's index.
#[kernel]
pub unsafe fn hold_registers(ns: u64, out: *mut u32, values: *const u32) {
    // SAFETY: there are as many values.
    let held = unsafe { [Sixteen::load(values), Sixteen::load(values.add(16))] };
    // SAFETY: as above.
    let more = unsafe { [Sixteen::load(values.add(32)), Sixteen::load(values.add(48))] };
    // SAFETY: as above.
    let most = unsafe { [Sixteen::load(values.add(64)), Sixteen::load(values.add(80))] };
    let start = global_timer();
    // SAFETY: as above; the value read does not matter.
    while global_timer() - start < ns && unsafe { values.read_volatile() } != u32::MAX {}
    thread::sync_threads();
    let sum = held[0].sum() + held[1].sum() + more[0].sum() + more[1].sum();
    let sum = sum + most[0].sum() + most[1].sum();
    if thread::thread_idx_x() == 0 {
        let block = thread::block_idx_x();
        // SAFETY: out has an element for every block.
        unsafe { *out.add(block as usize) = block + sum };
    }
}

/// Numbers that each thread of [`hold_registers`](fn@hold_registers) holds.
pub const HELD_REGISTERS: usize = 96;

/// Numbers, each by a name of its own: an array that is indexed in a loop would lie in memory.
macro_rules! sixteen {
    ($($field:ident $at:literal)*) => {
        struct Sixteen { $($field: u32),* }

        impl Sixteen {
            #[inline(always)]
            unsafe fn load(values: *const u32) -> Self {
                // SAFETY: the caller has sixteen of them.
                unsafe { Self { $($field: values.add($at).read_volatile()),* } }
            }

            #[inline(always)]
            fn sum(&self) -> u32 {
                0 $(+ self.$field)*
            }
        }
    };
}

sixteen! { a 0 b 1 c 2 d 3 e 4 f 5 g 6 h 7 i 8 j 9 k 10 l 11 m 12 n 13 o 14 p 15 }
