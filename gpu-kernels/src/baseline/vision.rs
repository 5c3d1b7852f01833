//! From an image's patches to tokens: texture features, relevance to a query, and as many tokens as a patch deserves.
//!
//! An image is [`IMAGE_PATCHES`] patches of [`PATCH_PIXELS`] pixels each, 16 rows of 16, one patch after the other. All kernels work on
//! any number of images at once, which lie one behind the other. Where pixels are small whole numbers and the weights powers of two, all
//! sums are exact, and a CPU gets the same bits.

use cuda_std::prelude::*;
use cuda_std::{shared_array, warp};

use crate::across::across_warp;

/// Patches of an image.
pub const IMAGE_PATCHES: u32 = 1024;
/// Pixels of a patch.
pub const PATCH_PIXELS: u32 = EDGE * EDGE;
/// Features of a patch: the sums of its pixels and of their squares, and of the squared differences to the right and down.
pub const PATCH_FEATURES: u32 = 4;
/// Tokens of the least relevant patch, and of the most relevant one.
pub const PATCH_TOKENS: [u32; 2] = [64, 400];
/// Threads of a block of all kernels but [`allocate_tokens`](fn@allocate_tokens), which has one for each patch.
pub const VISION_THREADS: u32 = 256;

const EDGE: u32 = 16;
const LANES: u32 = 32;

/// The features of `patches` patches; a warp for each.
#[kernel]
pub unsafe fn texture_features(pixels: *const f32, patches: u32, features: *mut f32) {
    let patch = thread::index_1d() / LANES;
    if patch >= patches {
        return;
    }
    let pixels = pixels.wrapping_add((patch * PATCH_PIXELS) as usize);
    // SAFETY: the patch is there, and a warp has it to itself.
    unsafe {
        let mut sums = [0.0f32; PATCH_FEATURES as usize];
        let mut at = warp::lane_id();
        while at < PATCH_PIXELS {
            let own = *pixels.add(at as usize);
            let (row, column) = (at / EDGE, at % EDGE);
            let to_right = if column + 1 < EDGE { *pixels.add(at as usize + 1) - own } else { 0.0 };
            let down = if row + 1 < EDGE { *pixels.add((at + EDGE) as usize) - own } else { 0.0 };
            sums[0] += own;
            sums[1] += own * own;
            sums[2] += to_right * to_right;
            sums[3] += down * down;
            at += LANES;
        }
        for (feature, sum) in sums.into_iter().enumerate() {
            let sum = across_warp(sum, |a, b| a + b);
            if warp::lane_id() == 0 {
                *features.add((patch * PATCH_FEATURES) as usize + feature) = sum;
            }
        }
    }
}

/// How many tokens each of `patches` patches gets: the least, and one more for each whole unit of its relevance, the product of its
/// features and the query's weights, up to the most. One thread per patch.
#[kernel]
pub unsafe fn patch_relevance(
    features: *const f32,
    weights: *const f32,
    patches: u32,
    counts: *mut u32,
) {
    let patch = thread::index_1d();
    if patch >= patches {
        return;
    }
    let mut relevance = 0.0f32;
    // SAFETY: the patch is there, and its count is this thread's.
    unsafe {
        for feature in 0..PATCH_FEATURES as usize {
            let own = *features.add((patch * PATCH_FEATURES) as usize + feature);
            relevance += own * *weights.add(feature);
        }
        let [least, most] = PATCH_TOKENS;
        *counts.add(patch as usize) = (least + relevance as u32).min(most);
    }
}

/// Where each patch's tokens begin in its image's: the sums of the counts before it. A block of [`IMAGE_PATCHES`] threads for each image.
#[kernel(launch_bounds(1024))]
pub unsafe fn allocate_tokens(counts: *const u32, offsets: *mut u32) {
    let sums = shared_array![u32; IMAGE_PATCHES as usize];
    let (t, at) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: a place of the sums for each thread; barriers separate what threads read of each other's from what they write.
    unsafe {
        let own = *counts.add(at);
        let mut sum = own;
        *sums.add(t) = sum;
        thread::sync_threads();
        let mut distance = 1;
        while distance < IMAGE_PATCHES as usize {
            let before = if t >= distance { *sums.add(t - distance) } else { 0 };
            thread::sync_threads();
            sum += before;
            *sums.add(t) = sum;
            thread::sync_threads();
            distance *= 2;
        }
        *offsets.add(at) = sum - own;
    }
}

/// The tokens of each patch: as many of its pixels as it has tokens, evenly spaced, times their number. A block for each patch; an
/// image has room for as many tokens as all its patches may have.
#[kernel]
pub unsafe fn emit_tokens(
    pixels: *const f32,
    counts: *const u32,
    offsets: *const u32,
    tokens: *mut f32,
) {
    let patch = thread::block_idx_x();
    let image = patch / IMAGE_PATCHES;
    let room = (image * IMAGE_PATCHES * PATCH_TOKENS[1]) as usize;
    // SAFETY: the patch is there, and its tokens are this block's.
    unsafe {
        let count = (*counts.add(patch as usize)).max(1);
        let first = room + *offsets.add(patch as usize) as usize;
        let mut token = thread::thread_idx_x();
        while token < count {
            let pixel = patch * PATCH_PIXELS + token * PATCH_PIXELS / count;
            *tokens.add(first + token as usize) = *pixels.add(pixel as usize) * count as f32;
            token += thread::block_dim_x();
        }
    }
}
