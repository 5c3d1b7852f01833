//! The images, and what becomes of their patches on the CPU.

use crate::slot::{FEATURES, PATCHES, PIXELS};
use gpu_kernels::PATCH_TOKENS;

const EDGE: usize = 16;
/// What the query asks for: brightness, energy, and texture in both directions. Powers of two keep all sums exact.
pub const WEIGHTS: [f32; FEATURES] = [1.0 / 64.0, 1.0 / 512.0, 1.0 / 64.0, 1.0 / 64.0];

/// Pixel `at` of a patch of an image: from flat patches to noisy ones, all of whole numbers from 0 to 15.
pub fn pixel(image: usize, patch: usize, at: usize) -> f32 {
    let mixed = |value: usize| value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let contrast = 1 + mixed(image * PATCHES + patch + 1) % 16;
    (mixed((image * PATCHES + patch) * PIXELS + at + 7) % contrast) as f32
}

/// What an image must become: the number of tokens of each patch, and the tokens.
pub fn tokens(image: usize) -> (Vec<u32>, Vec<f32>) {
    let (mut counts, mut tokens) = (Vec::new(), Vec::new());
    for patch in 0..PATCHES {
        let pixels: Vec<f32> = (0..PIXELS).map(|at| pixel(image, patch, at)).collect();
        let [least, most] = PATCH_TOKENS;
        let count = (least + relevance(&pixels) as u32).min(most);
        counts.push(count);
        let sample = |token| pixels[token * PIXELS / count as usize] * count as f32;
        tokens.extend((0..count as usize).map(sample));
    }
    (counts, tokens)
}

/// The weighted sum of a patch's features.
fn relevance(pixels: &[f32]) -> f32 {
    let square = |difference: f32| difference * difference;
    let sum = |of: &dyn Fn(usize) -> f32| (0..PIXELS).map(of).sum::<f32>();
    let features = [
        sum(&|at| pixels[at]),
        sum(&|at| square(pixels[at])),
        sum(&|at| match at % EDGE + 1 < EDGE {
            true => square(pixels[at + 1] - pixels[at]),
            false => 0.0,
        }),
        sum(&|at| match at / EDGE + 1 < EDGE {
            true => square(pixels[at + EDGE] - pixels[at]),
            false => 0.0,
        }),
    ];
    features.iter().zip(WEIGHTS).map(|(feature, weight)| feature * weight).sum()
}
