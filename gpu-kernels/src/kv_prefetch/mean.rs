//! The mean of values, weighted by the softmax of scores, while pages come one after another.

use cuda_std::extensions::mbarrier::Mbarrier;
use cuda_std::extensions::{FastFloat, SharedPtr};
use cuda_std::prelude::*;
use cuda_std::{GpuFloat, shared_array, warp};

use super::{KV_CONSUMERS, KV_HEAD_DIM, LANES};
use crate::across::across_warp;
use crate::float4::Float4;

const WARPS: u32 = KV_CONSUMERS / LANES;

/// A warp's mean under construction: the greatest score, what is weighted by `exp(score - max)`, and the lane's four elements of the
/// weighted sum.
pub(super) struct Mean {
    query: [f32; 4],
    max: f32,
    weights: f32,
    sums: [f32; 4],
}

impl Mean {
    /// Nothing yet, for this query.
    ///
    /// # Safety
    /// The query has [`KV_HEAD_DIM`] elements, aligned to 16 bytes.
    #[inline(always)]
    pub(super) unsafe fn of(query: *const f32, scale: f32) -> Self {
        let own = 4 * warp::lane_id() as usize;
        // SAFETY: inside the query.
        let query = unsafe { *query.add(own).cast::<Float4>() };
        Self {
            query: query.0.map(|x| x * scale),
            max: f32::NEG_INFINITY,
            weights: 0.0,
            sums: [0.0; 4],
        }
    }

    /// Adds the warp's two tokens of a page. `key` and `value` give four elements from an offset in a head's keys or values.
    ///
    /// # Safety
    /// All lanes of a computing warp call it together.
    #[inline(always)]
    pub(super) unsafe fn add(
        &mut self,
        key: impl Fn(u32) -> [f32; 4],
        value: impl Fn(u32) -> [f32; 4],
    ) {
        let first = thread::thread_idx_x() / LANES * KV_HEAD_DIM + 4 * warp::lane_id();
        let places = [first, first + WARPS * KV_HEAD_DIM];
        let (keys, values) = (places.map(key), places.map(value));
        // SAFETY: all lanes are here.
        let scores = keys.map(|key| unsafe { across_warp(dot(self.query, key), |a, b| a + b) });
        let max = self.max.max(scores[0].max(scores[1]));
        let fade = (self.max - max).fast_exp();
        self.max = max;
        self.weights *= fade;
        self.sums = self.sums.map(|sum| sum * fade);
        self.take((scores[0] - max).fast_exp(), values[0]);
        self.take((scores[1] - max).fast_exp(), values[1]);
    }

    /// Adds the lane's part of a value. Written out: in a loop the compiler would keep the sums in memory.
    #[inline(always)]
    fn take(&mut self, weight: f32, [a, b, c, d]: [f32; 4]) {
        self.weights += weight;
        let [w, x, y, z] = self.sums;
        self.sums = [
            a.mul_add(weight, w),
            b.mul_add(weight, x),
            c.mul_add(weight, y),
            d.mul_add(weight, z),
        ];
    }
}

/// Where the computing warps meet at the end: their means, and an mbarrier object that completes when all of them are there. No barrier
/// of the whole block is needed.
pub(super) struct Means {
    sums: *mut Float4,
    maxima: *mut f32,
    weights: *mut f32,
    there: Mbarrier,
}

impl Means {
    /// Reserves the places.
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self {
            sums: shared_array![Float4; (WARPS * LANES) as usize],
            maxima: shared_array![f32; WARPS as usize],
            weights: shared_array![f32; WARPS as usize],
            there: Mbarrier::at(SharedPtr::new(shared_array![u64; 1])),
        }
    }

    /// # Safety
    /// One thread calls it, before a barrier of the block.
    #[inline(always)]
    pub(super) unsafe fn initialise(&self) {
        // SAFETY: the place is this struct's, and no thread uses it yet.
        unsafe { self.there.init(WARPS) };
    }

    /// Combines the warps' means into a head's output.
    ///
    /// # Safety
    /// All computing threads call it, once; the object is initialised, and the output has [`KV_HEAD_DIM`] elements.
    #[inline(always)]
    pub(super) unsafe fn combine(&self, mean: Mean, output: *mut f32) {
        let t = thread::thread_idx_x();
        // SAFETY: the places are this thread's, or its warp's and written by one lane; they are read when all warps have arrived.
        unsafe {
            *self.sums.add(t as usize) = Float4(mean.sums);
            warp::sync_warp(u32::MAX);
            if warp::lane_id() == 0 {
                *self.maxima.add((t / LANES) as usize) = mean.max;
                *self.weights.add((t / LANES) as usize) = mean.weights;
                self.there.arrive();
            }
            if t >= KV_HEAD_DIM {
                return;
            }
            self.there.wait_parity(0);
            let sums = self.sums.cast::<f32>();
            let mut max = f32::NEG_INFINITY;
            for warp in 0..WARPS as usize {
                max = max.max(*self.maxima.add(warp));
            }
            let (mut total, mut sum) = (0.0f32, 0.0f32);
            for warp in 0..WARPS as usize {
                let weight = (*self.maxima.add(warp) - max).fast_exp();
                total = (*self.weights.add(warp)).mul_add(weight, total);
                sum = (*sums.add(warp * KV_HEAD_DIM as usize + t as usize)).mul_add(weight, sum);
            }
            *output.add(t as usize) = sum / total;
        }
    }
}

#[inline(always)]
fn dot(a: [f32; 4], b: [f32; 4]) -> f32 {
    let low = a[1].mul_add(b[1], a[0] * b[0]);
    a[3].mul_add(b[3], a[2].mul_add(b[2], low))
}
