//! Whether each kernel began when what it comes from had ended.

use crate::model::LAYERS;
use anyhow::ensure;
use examples_host::intervals::Span;
use examples_host::prelude::*;
use gpu_kernels::Signature as _;

/// Claims that all were kept.
pub fn claim_kept(part: &mut Part, recording: &Recording, steps: usize) -> anyhow::Result<()> {
    let (kept, all) = kept(recording, steps)?;
    part.claim(
        "order",
        "each append and attention begins when what it comes from has ended",
        kept == all,
        format!("{kept} of {all} times"),
        "each time",
    );
    Ok(())
}

/// How many of the orders between append and attention a decoding kept, and how many there are.
fn kept(recording: &Recording, steps: usize) -> anyhow::Result<(usize, usize)> {
    let spans = |name: &str| recording.spans(|interval| interval.name == name);
    let (appends, attentions) = (
        spans(gpu_kernels::append_kv::NAME),
        spans(gpu_kernels::paged_attention::NAME),
    );
    let updates = steps * LAYERS;
    ensure!(
        appends.len() == LAYERS + updates && attentions.len() == updates,
        "{} appends and {} attentions were recorded of {} and {updates}",
        appends.len(),
        attentions.len(),
        LAYERS + updates,
    );
    // In the first step each layer's prompt is appended right before its token.
    let prompt = |layer: usize| appends[2 * layer];
    let token = |update: usize| match update {
        0..LAYERS => appends[2 * update + 1],
        _ => appends[update + LAYERS],
    };
    let mut orders: Vec<[Span; 2]> = Vec::new();
    for (update, &attention) in attentions.iter().enumerate() {
        if update > 0 {
            orders.push([attentions[update - 1], token(update)]);
        }
        let newest = match update {
            0..LAYERS => prompt(update),
            _ => token(update - LAYERS),
        };
        orders.push([newest, attention]);
    }
    let kept = orders
        .iter()
        .filter(|[first, then]| first.end <= then.start);
    Ok((kept.count(), orders.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use examples_host::intervals::{Interval, Source};

    /// A step in which each kernel takes ten nanoseconds, with attention of layer `early` begun that much too soon.
    fn step(early: usize, by: u64) -> Recording {
        let interval = |name: &str, start: u64| Interval {
            engine: Engine::Kernel,
            name: name.to_owned(),
            stream: "stream".to_owned(),
            span: Span {
                start,
                end: start + 10,
            },
            bytes: 0,
        };
        let kernels = (0..LAYERS).flat_map(|layer| {
            let at = 100 + 30 * layer as u64;
            let soon = if layer == early { by } else { 0 };
            [
                interval(gpu_kernels::append_kv::NAME, at),
                interval(gpu_kernels::append_kv::NAME, at + 10),
                interval(gpu_kernels::paged_attention::NAME, at + 10 - soon),
            ]
        });
        Recording::new(Source::SoftwareGpu, kernels.collect())
    }

    #[test]
    fn attention_that_begins_before_its_tokens_are_written_is_counted() {
        let all = 2 * LAYERS - 1;
        assert_eq!(kept(&step(0, 0), 1).unwrap(), (all, all));
        assert_eq!(kept(&step(2, 1), 1).unwrap(), (all - 1, all));
        assert!(kept(&step(0, 0), 2).is_err());
    }
}
