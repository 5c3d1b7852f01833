//! A cache of keys and values in pages, and a decode step's attention over it.
//!
//! A page holds `page_tokens` neighbouring tokens of one layer, in one contiguous piece of memory, as
//! `[2][heads][page_tokens][head_dim]` floats: first all keys, then all values, so that a head's keys lie side by side.
//! Pages are allocated one by one, as the cache grows; the page table of a layer is an array of their addresses. Token
//! `t` is in slot `t % page_tokens` of page `t / page_tokens`; [`kv_offset`] says where. Pages are aligned to 16 bytes,
//! and `head_dim` is a multiple of four, at most 128.

use cuda_std::extensions::{FastFloat};
use cuda_std::{shared_array, warp, GpuFloat};
use cuda_std::prelude::*;

use crate::across::across_warp;
use crate::float4::Float4;

const LANES: u32 = 32;
const WARPS: u32 = 8;
/// Tokens that a warp works on at a time: their loads are under way together.
const GROUP: u32 = 4;
const MAX_HEAD_DIM: u32 = 128;

/// Threads per block of [`paged_attention`](fn@paged_attention).
#[cfg(not(target_os = "cuda"))]
pub const PAGED_ATTENTION_THREADS: u32 = WARPS * LANES;

/// Floats of a page.
pub const fn kv_page_len(heads: u32, head_dim: u32, page_tokens: u32) -> usize {
    2 * heads as usize * page_tokens as usize * head_dim as usize
}

/// Where in its page the key of `head` in `slot` begins, in floats; its value is half a page further on.
pub const fn kv_offset(head: u32, slot: u32, head_dim: u32, page_tokens: u32) -> usize {
    (head as usize * page_tokens as usize + slot as usize) * head_dim as usize
}

/// Writes the keys and values of tokens `first .. first + count` into the cache: `keys` and `values` are
/// `[count][heads][head_dim]`, and `pages` holds the pages' addresses. One thread per element of either, in one dimension:
/// `count heads head_dim` threads or more.
#[kernel]
#[allow(
    clippy::too_many_arguments,
    reason = "a kernel's parameters are plain numbers"
)]
pub unsafe fn append_kv(
    pages: *const *mut f32,
    first: u32,
    count: u32,
    keys: *const f32,
    values: *const f32,
    heads: u32,
    head_dim: u32,
    page_tokens: u32,
) {
    let i = thread::index_1d();
    if i >= count * heads * head_dim {
        return;
    }
    let (row, element) = divide(i, head_dim);
    let (token, head) = divide(row, heads);
    let (page, slot) = divide(first + token, page_tokens);
    let offset = kv_offset(head, slot, head_dim, page_tokens) + element as usize;
    // SAFETY: the launch vouches for the pages of these tokens; each place in them is one thread's.
    unsafe {
        // Loaded before anything is stored: for all that the compiler knows, a store may change what a pointer leads to.
        let (key, value) = (*keys.add(i as usize), *values.add(i as usize));
        let place = (*pages.add(page as usize)).add(offset);
        *place = key;
        *place.add(kv_page_len(heads, head_dim, page_tokens) / 2) = value;
    }
}

/// Attention of one query per head over the first `tokens` tokens: `output[h]` is the mean of the values, weighted by the
/// softmax of `scale` times the products of query `h` and the keys. Queries and output are `[heads][head_dim]`.
///
/// A block per head, of [`PAGED_ATTENTION_THREADS`] threads. Each warp takes every eighth group of four tokens and keeps a running maximum, sum
/// and mean; at the end the warps' means are combined in the order of their numbers: the same bits on every run.
/// Without tokens the output is 0.
#[kernel(launch_bounds(256))]
#[allow(
    clippy::too_many_arguments,
    reason = "a kernel's parameters are plain numbers"
)]
pub unsafe fn paged_attention(
    pages: *const *const f32,
    tokens: u32,
    queries: *const f32,
    output: *mut f32,
    heads: u32,
    head_dim: u32,
    page_tokens: u32,
    scale: f32,
) {
    let head = thread::block_idx_x();
    if head >= heads {
        return;
    }
    let cache = Cache {
        pages,
        tokens,
        head,
        head_dim,
        page_tokens,
        values: kv_page_len(heads, head_dim, page_tokens) / 2,
    };
    let here = (head * head_dim) as usize;
    // SAFETY: the launch vouches for the pages and for a query and an output per head; all threads are here.
    unsafe {
        let mean = cache.mean(queries.add(here), scale);
        combine(&mean, output.add(here), head_dim);
    }
}

/// One head's part of the cache.
struct Cache {
    pages: *const *const f32,
    tokens: u32,
    head: u32,
    head_dim: u32,
    page_tokens: u32,
    /// Floats from a key to its value.
    values: usize,
}

/// A mean under construction: the greatest score, and what is weighted by `exp(score - max)`.
struct Mean {
    max: f32,
    weights: f32,
    /// The lane's four elements of the weighted sum.
    sums: [f32; 4],
}

impl Cache {
    /// The mean over this warp's tokens.
    ///
    /// # Safety
    /// All lanes of the warp call it together; the pages hold the tokens, and the query has `head_dim` elements.
    #[inline(always)]
    unsafe fn mean(&self, query: *const f32, scale: f32) -> Mean {
        let mut mean = Mean {
            max: f32::NEG_INFINITY,
            weights: 0.0,
            sums: [0.0; 4],
        };
        // Lanes beyond the head's elements work on the first ones, with a query of zeros.
        let own = 4 * warp::lane_id();
        let (first, scale) = if own < self.head_dim {
            (own, scale)
        } else {
            (0, 0.0)
        };
        // SAFETY: inside the query.
        let query = unsafe { *query.add(first as usize).cast::<Float4>() };
        let query = query.0.map(|x| x * scale);

        let mut token = thread::thread_idx_x() / LANES * GROUP;
        while token < self.tokens {
            let mut scores = [f32::NEG_INFINITY; GROUP as usize];
            let mut values = [Float4([0.0; 4]); GROUP as usize];
            for i in 0..GROUP {
                // SAFETY: the token is one of the cache's, the elements are the head's, and all lanes are here.
                unsafe {
                    let key = self
                        .key((token + i).min(self.tokens - 1))
                        .add(first as usize);
                    values[i as usize] = *key.add(self.values).cast();
                    let key = (*key.cast::<Float4>()).0;
                    let product = dot(query, key);
                    let score = across_warp(product, |a, b| a + b);
                    if token + i < self.tokens {
                        scores[i as usize] = score;
                    }
                }
            }
            mean.add(scores, values);
            token += WARPS * GROUP;
        }
        mean
    }

    /// Where the key of a token begins.
    ///
    /// # Safety
    /// The token is in the cache.
    #[inline(always)]
    unsafe fn key(&self, token: u32) -> *const f32 {
        let (page, slot) = divide(token, self.page_tokens);
        let offset = kv_offset(self.head, slot, self.head_dim, self.page_tokens);
        // SAFETY: the caller's.
        unsafe { (*self.pages.add(page as usize)).add(offset) }
    }
}

impl Mean {
    /// Adds a group of tokens, at least one of which has a finite score.
    #[inline(always)]
    fn add(&mut self, scores: [f32; GROUP as usize], values: [Float4; GROUP as usize]) {
        let [a, b, c, d] = scores;
        let max = self.max.max(a.max(b).max(c.max(d)));
        let fade = (self.max - max).fast_exp();
        self.max = max;
        self.weights *= fade;
        self.sums = self.sums.map(|sum| sum * fade);
        for i in 0..GROUP as usize {
            let weight = (scores[i] - max).fast_exp();
            self.weights += weight;
            for j in 0..4 {
                self.sums[j] = values[i].0[j].mul_add(weight, self.sums[j]);
            }
        }
    }
}

/// Combines the warps' means into the head's output.
///
/// # Safety
/// All threads of the block call it together; the output has `head_dim` elements.
#[inline(always)]
unsafe fn combine(mean: &Mean, output: *mut f32, head_dim: u32) {
    let sums = shared_array![Float4; (WARPS * MAX_HEAD_DIM / 4) as usize];
    let (maxima, weights) = (
        shared_array![f32; WARPS as usize],
        shared_array![f32; WARPS as usize],
    );
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let warp = (t / LANES) as usize;
    // SAFETY: the places are this thread's, or its warp's and written by one lane.
    unsafe {
        *sums.add(t as usize) = Float4(mean.sums);
        if lane == 0 {
            *maxima.add(warp) = mean.max;
            *weights.add(warp) = mean.weights;
        }
    }
    thread::sync_threads();
    if t >= head_dim {
        return;
    }

    let sums = sums.cast::<f32>();
    let mut max = f32::NEG_INFINITY;
    for warp in 0..WARPS as usize {
        // SAFETY: each warp has stored its mean.
        max = max.max(unsafe { *maxima.add(warp) });
    }
    let (mut total, mut sum) = (0.0f32, 0.0f32);
    for warp in 0..WARPS as usize {
        // SAFETY: each warp has stored its mean.
        unsafe {
            let weight = (*maxima.add(warp) - max).fast_exp();
            total = (*weights.add(warp)).mul_add(weight, total);
            sum = (*sums.add(warp * MAX_HEAD_DIM as usize + t as usize)).mul_add(weight, sum);
        }
    }
    // SAFETY: t < head_dim.
    unsafe { *output.add(t as usize) = if total > 0.0 { sum / total } else { 0.0 } };
}

#[inline(always)]
fn dot(a: [f32; 4], b: [f32; 4]) -> f32 {
    let low = a[1].mul_add(b[1], a[0] * b[0]);
    a[3].mul_add(b[3], a[2].mul_add(b[2], low))
}

/// Quotient and remainder; a divisor of 0 counts as 1.
#[inline(always)]
fn divide(a: u32, b: u32) -> (u32, u32) {
    let b = b.max(1);
    (a / b, a % b)
}
