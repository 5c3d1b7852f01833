//! Decode steps: a prompt in every layer's cache, and then token after token.

use super::answers::Answers;
use crate::data::{cut, download};
use crate::model::{self, LAYERS, WIDTH};
use crate::pages::{Kernels, Pages, Tokens};
use examples_host::prelude::*;
use gpu_kernels::SM_70;

/// How much is decoded.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Tokens before the first step.
    pub prompt: usize,
    /// Tokens that are appended one by one.
    pub steps: usize,
    /// Tokens of a page.
    pub page_tokens: usize,
}

impl Shape {
    /// Tokens after the last step.
    pub fn tokens(&self) -> usize {
        self.prompt + self.steps
    }
}

/// The cache of all layers, what is written into it, what is asked of it, and the two streams that do so.
pub struct Decode {
    pub append: Stream,
    pub attention: Stream,
    pub shape: Shape,
    kernels: Kernels,
    layers: Vec<Pages>,
    /// Per layer, recorded behind the latest update.
    pub written: Vec<Event>,
    /// Per layer.
    prompts: Vec<Tokens>,
    /// Per step and layer.
    tokens: Vec<Tokens>,
    /// Per step: the first layer's queries.
    queries: Vec<DeviceBuffer<f32>>,
    /// Per step and layer: attention's output, the next layer's queries.
    outputs: Vec<DeviceBuffer<f32>>,
}

impl Decode {
    /// All data on the device, and empty pages for all tokens.
    pub fn new(append: &Stream, attention: &Stream, shape: Shape) -> anyhow::Result<Self> {
        let device = append.device();
        let Shape { prompt, steps, .. } = shape;
        let of_prompts = |numbers: Numbers| cut(append, LAYERS, prompt * WIDTH, numbers);
        let of_steps = |numbers: Numbers| {
            cut(append, steps * LAYERS, WIDTH, |piece, index| {
                let (step, layer) = (piece / LAYERS, piece % LAYERS);
                numbers(layer, (prompt + step) * WIDTH + index)
            })
        };
        let pages = |_| Pages::new(append, attention, shape.tokens(), shape.page_tokens);
        let event = |_| Event::new(device, Timing::Off);
        Ok(Self {
            append: append.clone(),
            attention: attention.clone(),
            shape,
            kernels: Kernels::load(device, SM_70)?,
            layers: (0..LAYERS).map(pages).collect::<Result<_>>()?,
            written: (0..LAYERS).map(event).collect::<Result<_>>()?,
            prompts: pairs(of_prompts(model::key)?, of_prompts(model::value)?),
            tokens: pairs(of_steps(model::key)?, of_steps(model::value)?),
            queries: cut(attention, steps, WIDTH, |step, index| {
                model::query(step * WIDTH + index)
            })?,
            outputs: DeviceBuffer::new(attention, steps * LAYERS * WIDTH)?.split(steps * LAYERS)?,
        })
    }

    /// The steps and layers, in the order in which a model takes them.
    pub fn order(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        (0..self.shape.steps).flat_map(|step| (0..LAYERS).map(move |layer| (step, layer)))
    }

    /// Writes the prompt's tokens into a layer's cache.
    pub fn append_prompt(&mut self, layer: usize) -> anyhow::Result<()> {
        self.layers[layer].append(&self.kernels, 0, &self.prompts[layer])
    }

    /// Writes the token of a step into a layer's cache.
    pub fn append_token(&mut self, step: usize, layer: usize) -> anyhow::Result<()> {
        let tokens = &self.tokens[step * LAYERS + layer];
        self.layers[layer].append(&self.kernels, self.shape.prompt + step, tokens)
    }

    /// Attention of a step over all tokens before it.
    pub fn attend(&mut self, step: usize, layer: usize) -> anyhow::Result<()> {
        let (before, rest) = self.outputs.split_at_mut(step * LAYERS + layer);
        let query = match layer {
            0 => &self.queries[step],
            _ => &before[before.len() - 1],
        };
        let tokens = self.shape.prompt + step;
        self.layers[layer].attend(&self.kernels, tokens, query, &mut rest[0])
    }

    /// Makes every result of an earlier run unrecognisable.
    pub fn poison(&mut self) -> Result<()> {
        self.layers.iter_mut().try_for_each(Pages::poison)?;
        self.outputs.iter_mut().try_for_each(DeviceBuffer::poison)
    }

    /// Compares every element of the cache and of all outputs with what the CPU has.
    pub fn check(&self, answers: &mut Answers) -> anyhow::Result<Checked> {
        let mut checked = Checked::default();
        for (layer, pages) in self.layers.iter().enumerate() {
            checked = checked.and(answers.check_pages(layer, pages, self.shape.tokens())?);
        }
        let mut outputs = Vec::new();
        for output in &self.outputs {
            outputs.extend(download(output)?);
        }
        Ok(checked.and(answers.check_outputs(outputs)?))
    }
}

/// Elements by layer and index.
type Numbers = fn(usize, usize) -> f32;

fn pairs(keys: Vec<DeviceBuffer<f32>>, values: Vec<DeviceBuffer<f32>>) -> Vec<Tokens> {
    let pairs = keys.into_iter().zip(values);
    pairs
        .map(|(keys, values)| Tokens { keys, values })
        .collect()
}
