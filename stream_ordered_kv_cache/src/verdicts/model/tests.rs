//! What a wrong cache changes in the outputs.

use super::*;
use crate::cache::LAYERS;

const TOKENS: usize = 600;

fn output(layer: &Layer) -> Vec<f64> {
    let query: Vec<f64> = (0..WIDTH).map(|index| f64::from(query(index))).collect();
    layer.attention(TOKENS, &query)
}

/// How many outputs of a layer are not those of the right cache, when a token has another's keys or values.
fn seen(layer: usize, token: usize, of: impl Fn(&mut Layer) -> &mut Vec<f32>) -> usize {
    let right = output(&Layer::new(layer, TOKENS));
    let mut torn = Layer::new(layer, TOKENS);
    let (here, other) = (token * WIDTH, (token + 1) % TOKENS * WIDTH);
    of(&mut torn).copy_within(other..other + WIDTH, here);
    let pairs = output(&torn).into_iter().zip(right);
    pairs.filter(|(got, right)| !close(*got as f32, *right)).count()
}

#[test]
fn a_token_that_is_half_another_changes_most_outputs_beyond_the_tolerance() {
    for layer in 0..LAYERS {
        for token in [0, TOKENS / 2, TOKENS - 1] {
            let keys = seen(layer, token, |layer| &mut layer.keys);
            let values = seen(layer, token, |layer| &mut layer.values);
            let least = WIDTH * 3 / 4;
            assert!(keys > least && values > least, "{layer} {token}: {keys}, {values}");
        }
    }
}

#[test]
fn attention_over_one_token_is_its_value() {
    let layer = Layer::new(2, 1);
    let query = vec![1.0; WIDTH];
    let found = layer.attention(1, &query);
    assert!((0..WIDTH).all(|index| found[index] == f64::from(value(2, index))));
}
