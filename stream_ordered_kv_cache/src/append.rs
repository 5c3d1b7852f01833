//! append: one stream writes a token's keys and values while another attends to the tokens before it.
//!
//! In each step and layer, a token's keys and values come out of what the layer before has computed, and are appended
//! to the layer's cache. Attention of that step reads the tokens before it. So there are two orders to keep: an append
//! comes behind the attention of the layer before, and attention behind the appends of the earlier steps, which have
//! ended long ago. Kept by the host, both cost a round trip; kept by events, neither costs anything:
//!
//! ```text
//! host waits  host      |wwwww   www   wwwww   www   wwwww  |
//!             attention |KKKK           KKKK          KKKK  |
//!             append    |       K             K             |
//! events      attention |KKKK KKKK KKKK KKKK KKKK KKKK      |
//!             append    |     K    K    K    K    K    K    |
//! ```
//!
//! One stream needs no events and no host, but has each append between two attentions. An append that begins before
//! the attention it comes from has ended, an output that a missing token has changed, or gaps that remain would prove
//! this wrong.

use crate::cache::{Cache, Kernels, LAYERS, in_order};
use crate::sequences::Sequences;
use anyhow::Result;
use cuda_host::prelude::*;

/// Decode steps: a prompt in every layer's cache, and then token after token.
pub struct Decode {
    kernels: Kernels,
    pub prompt: usize,
    pub steps: usize,
    pub layers: Vec<Cache>,
    pub sequence: Sequences,
    /// By layer, recorded behind the latest append.
    written: Vec<Event>,
    /// Recorded behind the latest attention.
    computed: Event,
}

impl Decode {
    pub fn new(prompt: usize, layers: Vec<Cache>, sequence: Sequences) -> Result<Self> {
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let computed = Event::new(EventFlags::DISABLE_TIMING)?;
        let written = layers.iter().map(|_| Event::new(EventFlags::DISABLE_TIMING));
        let written = written.collect::<CudaResult<_>>()?;
        Ok(Self { kernels, prompt, steps: sequence.steps(), layers, sequence, written, computed })
    }

    /// The host waits for what each kernel is to read.
    pub fn host_sync(&self, append: &Stream, attention: &Stream) -> Result<()> {
        for layer in 0..LAYERS {
            self.launch_prompt(layer, append)?;
        }
        for (step, layer) in in_order(self.steps) {
            attention.synchronize()?; // the token comes out of the layer before
            self.launch_append(step, layer, append)?;
            append.synchronize()?; // attention reads it in the next step
            self.launch_attention(step, layer, attention)?;
        }
        Ok(())
    }

    /// One stream keeps everything in order.
    pub fn one_stream(&self, stream: &Stream) -> Result<()> {
        for layer in 0..LAYERS {
            self.launch_prompt(layer, stream)?;
        }
        for (step, layer) in in_order(self.steps) {
            self.launch_append(step, layer, stream)?;
            self.launch_attention(step, layer, stream)?;
        }
        Ok(())
    }

    /// The streams wait for each other, and the host for nothing. A wait stands for the latest record at the time of the
    /// call: for the attention of the layer before, and for the append of the step before.
    pub fn events(&self, append: &Stream, attention: &Stream) -> Result<()> {
        for layer in 0..LAYERS {
            self.launch_prompt(layer, append)?;
            self.written[layer].record(append)?;
        }
        for (step, layer) in in_order(self.steps) {
            append.wait(&self.computed)?;
            attention.wait(&self.written[layer])?;
            self.launch_attention(step, layer, attention)?;
            self.computed.record(attention)?;
            self.launch_append(step, layer, append)?;
            self.written[layer].record(append)?;
        }
        Ok(())
    }

    /// Writes the prompt's tokens into a layer's cache.
    fn launch_prompt(&self, layer: usize, stream: &Stream) -> Result<()> {
        Ok(self.layers[layer].launch_append(&self.kernels, 0..self.prompt, stream)?)
    }

    /// Writes the token of a step into a layer's cache.
    pub fn launch_append(&self, step: usize, layer: usize, stream: &Stream) -> Result<()> {
        let token = self.prompt + step;
        Ok(self.layers[layer].launch_append(&self.kernels, token..token + 1, stream)?)
    }

    /// Attention of a step over all tokens before it.
    pub fn launch_attention(&self, step: usize, layer: usize, stream: &Stream) -> Result<()> {
        let context = (&self.layers[layer].table, self.prompt + step);
        Ok(self.sequence.launch_attention(&self.kernels, context, (step, layer), stream)?)
    }
}
