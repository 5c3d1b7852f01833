//! The expected contents of a cache's pages.

use super::model::Layer;
use crate::cache::{Cache, HEAD_DIM, HEADS, WIDTH};
use cuda_host::prelude::*;
use examples_host::prelude::{Checked, check};
use gpu_kernels::kv_offset;

/// Makes every token of an earlier run unrecognisable.
pub fn poison(cache: &mut Cache) -> CudaResult<()> {
    cache.pages.iter_mut().try_for_each(|page| page.set_8(0xFF))
}

/// Compares the pages bit for bit with the CPU's first `tokens` tokens; where no token is, there must be poison.
pub fn check(cache: &Cache, on_cpu: &Layer, tokens: usize) -> anyhow::Result<Checked> {
    let mut checked = Checked::default();
    for (number, buffer) in cache.pages.iter().enumerate() {
        let expected = page(on_cpu, number, cache.table.page_tokens, tokens);
        let (what, got) = (format!("page {number}"), buffer.as_host_vec()?);
        checked = checked.and(check::equal(&what, 0, &got, |at| expected[at])?);
    }
    Ok(checked)
}

/// What a page must hold when the cache holds `tokens` tokens: each token in its place, and poison elsewhere.
pub fn page(layer: &Layer, page: usize, page_tokens: usize, tokens: usize) -> Vec<f32> {
    let half = WIDTH * page_tokens;
    let mut expected = vec![f32::from_bits(u32::MAX); 2 * half];
    let first = page * page_tokens;
    for token in first..(first + page_tokens).min(tokens) {
        for head in 0..HEADS {
            let slot = (token - first) as u32;
            let place = kv_offset(head, slot, HEAD_DIM, page_tokens as u32);
            let from = token * WIDTH + (head * HEAD_DIM) as usize;
            let of_head = from..from + HEAD_DIM as usize;
            let places = place..place + HEAD_DIM as usize;
            expected[places.clone()].copy_from_slice(&layer.keys[of_head.clone()]);
            expected[half + places.start..half + places.end]
                .copy_from_slice(&layer.values[of_head]);
        }
    }
    expected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdicts::model::{key, value};

    #[test]
    fn a_page_holds_its_tokens_and_poison() {
        let layer = Layer::new(1, 5);
        let page = page(&layer, 1, 4, 5);
        let (dim, half) = (HEAD_DIM as usize, WIDTH * 4);
        assert_eq!(page[0], key(1, 4 * WIDTH));
        assert_eq!(page[half + 4 * dim], value(1, 4 * WIDTH + dim));
        assert_eq!(page[dim].to_bits(), u32::MAX);
        assert_eq!(page.iter().filter(|x| !x.is_nan()).count(), 2 * WIDTH);
    }
}
