//! Kernels with a mistake each, which `tests/table.rs` launches. A comment `mistake: NAME` marks the line that a report names.

use cuda_std::prelude::*;
use cuda_std::shared_array;

/// Right: the mistakes are in its launches.
#[kernel]
pub unsafe fn scale(data: &mut [f32], factor: f32) {
    let i = thread::index_1d() as usize;
    if i < data.len() {
        data[i] *= factor; // mistake: read before it is written, use of freed memory
    }
}

/// Every thread adds to the same element.
#[kernel]
pub unsafe fn total(data: &mut [f32], value: f32) {
    data[0] += value; // mistake: lost update
}

/// A pointer beyond the end.
#[kernel] // mistake: near out of bounds
pub unsafe fn beyond(data: *mut f32, len: usize) {
    let i = thread::index_1d() as usize;
    unsafe { data.add(len + i).write(1.0) };
}

/// A pointer to the middle of an element.
#[kernel]
pub unsafe fn askew(data: *mut f32) {
    unsafe { *data.byte_add(2) = 1.0 }; // mistake: misaligned
}

/// A thread reads another's element before it is there.
#[kernel]
pub unsafe fn reverse(data: &mut [f32]) {
    let tile = shared_array![f32; 256];
    let t = thread::thread_idx_x() as usize;
    unsafe { *tile.add(t) = data[t] }; // mistake: store without a barrier
    data[t] = unsafe { *tile.add(255 - t) }; // mistake: load without a barrier
}

/// Half of the block skips the barrier.
#[kernel]
pub unsafe fn half(data: &mut [f32]) {
    let tile = shared_array![f32; 256];
    let t = thread::thread_idx_x() as usize;
    unsafe { *tile.add(t) = data[t] }; // mistake: store before half a barrier
    if t < 128 {
        thread::sync_threads();
    }
    data[t] = unsafe { *tile.add(255 - t) }; // mistake: load after half a barrier
}

/// Half of each warp waits at a different barrier from the rest.
#[kernel]
pub unsafe fn diverged(data: &mut [f32]) {
    let t = thread::thread_idx_x() as usize;
    if t % 32 < 16 {
        data[t] = 1.0;
        thread::sync_threads();
        data[t] = 2.0;
    } else {
        data[t] = 3.0;
        thread::sync_threads();
        data[t] = 4.0;
    }
}

/// Waits for a value that no thread writes.
#[kernel]
pub unsafe fn endless(flag: *const u32) {
    while unsafe { flag.read_volatile() } == 0 {} // mistake: endless loop
}
