//! The paged cache of keys and values: what is written where, and the attention over it against a reference in `f64`.

mod support;

use anyhow::{Result, ensure};
use cust::memory::DeviceBuffer;
use gpu_kernels::{SM_70, Signature as _, kv_offset, kv_page_len};
use support::LaunchArgument::{F32, U32};
use support::{TestDevice, blocks, download, near, numbers, pointer, upload};

#[derive(Clone, Copy)]
struct Model {
    heads: u32,
    head_dim: u32,
    page_tokens: u32,
}

/// One layer's cache: its pages, and the table of their addresses.
struct LayerCache {
    model: Model,
    pages: Vec<DeviceBuffer<f32>>,
    table: DeviceBuffer<u64>,
}

/// What no kernel has written.
const UNTOUCHED: f32 = -9.0;

impl LayerCache {
    fn new(model: Model, tokens: u32) -> Result<Self> {
        let len = kv_page_len(model.heads, model.head_dim, model.page_tokens);
        let pages = (0..tokens.div_ceil(model.page_tokens).max(1))
            .map(|_| upload(&vec![UNTOUCHED; len]))
            .collect::<Result<Vec<_>>>()?;
        let addresses: Vec<u64> = pages
            .iter()
            .map(|page| page.as_device_ptr().as_raw())
            .collect();
        let table = upload(&addresses)?;
        Ok(Self {
            model,
            pages,
            table,
        })
    }

    /// Appends `count` tokens of `[count][heads][head_dim]` keys and values.
    fn append(&self, device: &TestDevice, first: u32, keys: &[f32], values: &[f32]) -> Result<()> {
        let Model {
            heads,
            head_dim,
            page_tokens,
        } = self.model;
        let (dk, dv) = (upload(keys)?, upload(values)?);
        let count = keys.len() as u32 / (heads * head_dim);
        let mut arguments = vec![pointer(&self.table), U32(first), U32(count)];
        arguments.extend([pointer(&dk), pointer(&dv)]);
        arguments.extend([heads, head_dim, page_tokens].map(U32));
        let shape = blocks((keys.len() as u32).div_ceil(96), 96);
        // SAFETY: the kernel's parameters, and pages for these tokens.
        unsafe { device.run(gpu_kernels::append_kv::NAME, shape, &arguments) }
    }

    fn attend(
        &self,
        device: &TestDevice,
        tokens: u32,
        queries: &[f32],
        scale: f32,
    ) -> Result<Vec<f32>> {
        let Model {
            heads,
            head_dim,
            page_tokens,
        } = self.model;
        let (queries, output) = (upload(queries)?, upload(&vec![UNTOUCHED; queries.len()])?);
        let mut arguments = vec![pointer(&self.table), U32(tokens)];
        arguments.extend([pointer(&queries), pointer(&output)]);
        arguments.extend([heads, head_dim, page_tokens].map(U32));
        arguments.push(F32(scale));
        let shape = blocks(heads, gpu_kernels::PAGED_ATTENTION_THREADS);
        // SAFETY: the kernel's parameters, and pages for these tokens.
        unsafe { device.run(gpu_kernels::paged_attention::NAME, shape, &arguments)? };
        download(&output)
    }
}

/// Softmax of `scale q·k` over the tokens, then the mean of the values, for one head.
fn attention(model: Model, tokens: u32, head: u32, [q, k, v]: [&[f32]; 3], scale: f32) -> Vec<f64> {
    let width = (model.heads * model.head_dim) as usize;
    let dim = model.head_dim as usize;
    let from = head as usize * dim;
    let row = |of: &'_ [f32], token: usize| of[token * width + from..][..dim].to_vec();
    let score = |token| {
        let key = row(k, token);
        let product = |(q, k): (&f32, &f32)| f64::from(*q) * f64::from(*k);
        q[from..].iter().zip(&key).map(product).sum::<f64>() * f64::from(scale)
    };
    let scores: Vec<f64> = (0..tokens as usize).map(score).collect();
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|score| (score - max).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mut mean = vec![0.0; dim];
    for (token, weight) in weights.iter().enumerate() {
        for (mean, value) in mean.iter_mut().zip(row(v, token)) {
            *mean += weight / total * f64::from(value);
        }
    }
    mean
}

const MODELS: [Model; 3] = [
    Model {
        heads: 3,
        head_dim: 64,
        page_tokens: 16,
    },
    Model {
        heads: 2,
        head_dim: 128,
        page_tokens: 5,
    },
    Model {
        heads: 1,
        head_dim: 4,
        page_tokens: 1,
    },
];

#[test]
fn tokens_are_stored_bit_for_bit_and_nothing_else_is_touched() -> Result<()> {
    let device = TestDevice::open(SM_70)?;
    for model in MODELS {
        let width = (model.heads * model.head_dim) as usize;
        let tokens = 2 * model.page_tokens as usize + 3;
        let cache = LayerCache::new(model, tokens as u32 + 2)?;
        let (keys, values) = (numbers(1, tokens * width), numbers(2, tokens * width));
        // A prompt that ends inside a page, then token by token.
        let prompt = (model.page_tokens as usize + 1) * width;
        cache.append(&device, 0, &keys[..prompt], &values[..prompt])?;
        for at in (prompt..tokens * width).step_by(width) {
            let token = (at / width) as u32;
            cache.append(&device, token, &keys[at..][..width], &values[at..][..width])?;
        }
        let len = kv_page_len(model.heads, model.head_dim, model.page_tokens);
        let mut expected = vec![vec![UNTOUCHED; len]; cache.pages.len()];
        for (at, (key, value)) in keys.iter().zip(&values).enumerate() {
            let (token, element) = (at / width, at % width);
            let (head, element) = (
                element as u32 / model.head_dim,
                element % model.head_dim as usize,
            );
            let (page, slot) = (
                token as u32 / model.page_tokens,
                token as u32 % model.page_tokens,
            );
            let place = kv_offset(head, slot, model.head_dim, model.page_tokens) + element;
            let page = &mut expected[page as usize];
            (page[place], page[place + len / 2]) = (*key, *value);
        }
        for (page, expected) in cache.pages.iter().zip(&expected) {
            ensure!(download(page)? == *expected, "a page differs");
        }
    }
    Ok(())
}

#[test]
fn attention_is_that_of_the_reference_and_the_same_bits_each_time() -> Result<()> {
    let device = TestDevice::open(SM_70)?;
    for model in MODELS {
        let width = (model.heads * model.head_dim) as usize;
        for tokens in [1, 4, 33, 150] {
            let cache = LayerCache::new(model, tokens)?;
            let count = tokens as usize * width;
            let (keys, values) = (numbers(3, count), numbers(4, count));
            let queries: Vec<f32> = numbers(5, width).iter().map(|q| 8.0 * q).collect();
            cache.append(&device, 0, &keys, &values)?;
            let scale = 1.0 / (model.head_dim as f32).sqrt();
            let found = cache.attend(&device, tokens, &queries, scale)?;
            let expected: Vec<f64> = (0..model.heads)
                .flat_map(|head| attention(model, tokens, head, [&queries, &keys, &values], scale))
                .collect();
            near("attention", &found, &expected, 1e-5)?;
            let again = cache.attend(&device, tokens, &queries, scale)?;
            let same = found
                .iter()
                .zip(&again)
                .all(|(a, b)| a.to_bits() == b.to_bits());
            ensure!(same, "other bits the second time");
        }
    }
    Ok(())
}

#[test]
fn attention_reads_no_token_beyond_the_last() -> Result<()> {
    let device = TestDevice::open(SM_70)?;
    let model = MODELS[0];
    let width = (model.heads * model.head_dim) as usize;
    let cache = LayerCache::new(model, 32)?;
    let (keys, queries) = (numbers(6, 7 * width), numbers(7, width));
    cache.append(&device, 0, &keys, &keys)?;
    let before = cache.attend(&device, 7, &queries, 0.125)?;
    cache.append(&device, 7, &vec![f32::NAN; width], &vec![f32::NAN; width])?;
    ensure!(
        cache.attend(&device, 7, &queries, 0.125)? == before,
        "token 7 was read"
    );
    ensure!(
        cache
            .attend(&device, 0, &queries, 0.125)?
            .iter()
            .all(|x| *x == 0.0),
        "not empty"
    );
    Ok(())
}
