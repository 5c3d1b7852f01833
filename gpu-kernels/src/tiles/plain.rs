//! The kernels of [`tiles`](super) for every GPU: plain loads.

use cuda_std::extensions::{SharedPtr, barrier};
use cuda_std::prelude::*;
use cuda_std::{shared_array, warp};

use super::{Array, CONSUMERS, GROUPS, PLAIN_PRODUCERS, STAGES, TILE, compute};
use crate::float4::Float4;

/// `output[i]` from `input[i]`, all warps alike; blocks of [`CONSUMERS`] threads.
#[kernel(launch_bounds(256))]
pub unsafe fn fma_tiles_unspecialised(input: &[f32], output: *mut f32, rounds: u32) {
    let tile: SharedPtr<f32> = SharedPtr::new(shared_array![Float4; TILE as usize / 4]).cast();
    let array = Array::new(input, output);
    array.for_each_tile(|first, len| {
        // SAFETY: the launch vouches for the array; barriers separate the stores to the tile from the loads of it.
        unsafe {
            load::<{ CONSUMERS }, { GROUPS as usize }>(
                tile,
                array.input.add(first),
                len,
                thread::thread_idx_x(),
            );
            thread::sync_threads();
            compute(tile, array, first, len, rounds, || ());
            thread::sync_threads();
        }
    });
}

/// Copies a tile into shared memory by plain loads, `THREADS` threads together, `LOADS` groups of four elements each,
/// all under way at the same time.
///
/// # Safety
/// `from` points to `len` elements, no other thread accesses the tile, and whole warps are here.
#[inline(always)]
unsafe fn load<const THREADS: u32, const LOADS: usize>(
    tile: SharedPtr<f32>,
    from: *const f32,
    len: u32,
    t: u32,
) {
    let mut values = [Float4([0.0; 4]); LOADS];
    for (i, value) in (0..).zip(&mut values) {
        let at = 4 * (t + i * THREADS);
        // Beyond the end, the first group once more: without a branch all loads are under way together.
        let at = if at < len { at } else { 0 };
        // SAFETY: inside the tile, since `len` is a multiple of four.
        *value = unsafe { *from.add(at as usize).cast() };
    }
    // Otherwise `ptxas` puts the first stores, which wait for their loads, before the last loads: to use their registers again.
    // SAFETY: all threads of the warp come here.
    unsafe { warp::sync_warp(u32::MAX) };
    for (i, value) in (0..).zip(values) {
        // SAFETY: inside the tile's room in shared memory.
        unsafe { tile.add(4 * (t + i * THREADS)).write_x4(value.0) };
    }
}

/// `output[i]` from `input[i]`, with [`PLAIN_PRODUCERS`] threads that load and [`CONSUMERS`] that compute; blocks of their
/// sum, the consumers first.
#[kernel(launch_bounds(384))]
pub unsafe fn fma_tiles_named_barriers(input: &[f32], output: *mut f32, rounds: u32) {
    const THREADS: u32 = CONSUMERS + PLAIN_PRODUCERS;
    let tiles: SharedPtr<f32> =
        SharedPtr::new(shared_array![Float4; (STAGES * TILE) as usize / 4]).cast();
    let array = Array::new(input, output);
    let t = thread::thread_idx_x();
    let (full, empty) = (|stage| 1 + stage, |stage| 1 + STAGES + stage);
    let mut stage = 0;
    if t >= CONSUMERS {
        let mut round = 0;
        array.for_each_tile(|first, len| {
            // SAFETY: the launch vouches for the array; a stage is filled after the consumers have released it; whole
            // warps are here.
            unsafe {
                if round > 0 {
                    barrier::sync(empty(stage), THREADS);
                }
                let tile = tiles.add(stage * TILE);
                load::<PLAIN_PRODUCERS, { (TILE / 4 / PLAIN_PRODUCERS) as usize }>(
                    tile,
                    array.input.add(first),
                    len,
                    t - CONSUMERS,
                );
                barrier::arrive(full(stage), THREADS);
            }
            stage += 1;
            if stage == STAGES {
                (stage, round) = (0, 1);
            }
        });
    } else {
        array.for_each_tile(|first, len| {
            let is_filled_again = first + STAGES as usize * Array::stride() < array.n;
            // SAFETY: as above; a stage is read between its two barriers.
            unsafe {
                barrier::sync(full(stage), THREADS);
                compute(tiles.add(stage * TILE), array, first, len, rounds, || {
                    // Otherwise no producer would wait for it.
                    if is_filled_again {
                        barrier::arrive(empty(stage), THREADS);
                    }
                });
            }
            stage = (stage + 1) % STAGES;
        });
    }
}
