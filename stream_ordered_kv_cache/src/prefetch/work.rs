//! The cache on the host, the room for two of its layers on the device, and the sequences that continue it.

use crate::data::{cut, download};
use crate::model::{self, LAYERS, Layer, WIDTH};
use crate::pages::{self, Kernels};
use crate::size;
use anyhow::Context;
use examples_host::prelude::*;
use gpu_kernels::SM_70;

/// Decode steps; each reads all layers.
const STEPS: usize = 8;
/// Buffers on the device: one is read while the next is filled.
const BUFFERS: usize = 2;

/// What the variants share.
pub struct Work {
    /// Per layer: all its pages, one behind the other.
    pub on_host: Vec<HostBuffer<f32>>,
    pub rotating: Ring<f32>,
    pub tables: Tables,
    pub sequences: Sequences,
    pub kernels: Kernels,
    /// Leave out the event between copy and attention.
    pub omit_event: bool,
    layers: Vec<Layer>,
}

/// A page table for each buffer.
pub struct Tables {
    tables: Vec<(u64, DeviceBuffer<u64>)>,
    page_tokens: usize,
}

impl Tables {
    /// The table of the pages in a buffer.
    pub fn of(&self, pages: &DeviceBuffer<f32>) -> anyhow::Result<(&DeviceBuffer<u64>, usize)> {
        let mut tables = self.tables.iter();
        let found = tables.find(|(address, _)| *address == pages.address());
        let (_, table) = found.context("a buffer without a page table")?;
        Ok((table, self.page_tokens))
    }
}

/// Sequences that continue the same prompt.
pub struct Sequences {
    tokens: usize,
    /// Per step and sequence: the first layer's queries.
    queries: Vec<DeviceBuffer<f32>>,
    /// Per step, layer and sequence: attention's output, the next layer's queries.
    outputs: Vec<DeviceBuffer<f32>>,
}

impl Sequences {
    fn new(attention: &Stream, tokens: usize, count: usize) -> Result<Self> {
        let outputs = STEPS * LAYERS * count;
        Ok(Self {
            tokens,
            queries: cut(attention, STEPS * count, WIDTH, |number, index| {
                model::query(number * WIDTH + index)
            })?,
            outputs: DeviceBuffer::new(attention, outputs * WIDTH)?.split(outputs)?,
        })
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.queries.len() / STEPS
    }

    /// Attention of each of them in one layer, one after the other.
    pub fn attend(
        &mut self,
        kernels: &Kernels,
        table: (&DeviceBuffer<u64>, usize),
        (step, layer): (usize, usize),
    ) -> anyhow::Result<()> {
        let count = self.count();
        let (before, rest) = self.outputs.split_at_mut((step * LAYERS + layer) * count);
        let queries = match layer {
            0 => &self.queries[step * count..],
            _ => &before[before.len() - count..],
        };
        let mut pairs = queries.iter().zip(rest).take(count);
        pairs.try_for_each(|(query, output)| kernels.attend(table, self.tokens, query, output))
    }
}

impl Work {
    /// A cache in host memory, which one sequence continues.
    pub fn new(part: &Part, copies: &Stream, attention: &Stream) -> anyhow::Result<Self> {
        let tokens = size::tokens(part)?.unwrap_or(256);
        let page_tokens = size::page_tokens(part, tokens)?;
        let layers: Vec<Layer> = (0..LAYERS).map(|layer| Layer::new(layer, tokens)).collect();
        let (pages, page_len) = (tokens.div_ceil(page_tokens), 2 * WIDTH * page_tokens);
        let on_host = layers.iter().map(|layer| {
            let mut on_host = HostBuffer::page_locked(part.device(), pages * page_len)?;
            for (number, page) in on_host.write()?.chunks_mut(page_len).enumerate() {
                page.copy_from_slice(&layer.page(number, page_tokens, tokens));
            }
            Ok::<_, Error>(on_host)
        });
        let on_host = on_host.collect::<Result<_>>()?;
        let mut rotating = Ring::new(copies, BUFFERS, pages * page_len)?;
        rotating.poison()?;
        let mut tables = Vec::new();
        for _ in 0..BUFFERS {
            let first = rotating.turn(copies, |buffer| Ok::<_, Error>(buffer.address()))?;
            let bytes = (page_len * size_of::<f32>()) as u64;
            let addresses = (0..pages).map(|page| first + page as u64 * bytes);
            tables.push((first, pages::table(attention, addresses)?));
        }
        Ok(Self {
            on_host,
            rotating,
            tables: Tables {
                tables,
                page_tokens,
            },
            sequences: Sequences::new(attention, tokens, 1)?,
            kernels: Kernels::load(part.device(), SM_70)?,
            omit_event: part.options().omit_event,
            layers,
        })
    }

    /// Lets `count` sequences continue the prompt from here on.
    pub fn continue_in(&mut self, attention: &Stream, count: usize) -> Result<()> {
        self.sequences = Sequences::new(attention, self.sequences.tokens, count)?;
        Ok(())
    }

    /// The steps and layers, in the order in which a model takes them.
    pub fn order(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        (0..STEPS).flat_map(|step| (0..LAYERS).map(move |layer| (step, layer)))
    }

    /// Bytes of a layer.
    pub fn layer_bytes(&self) -> usize {
        self.on_host[0].bytes()
    }

    /// What a variant must do. The elements of a launch are those of its longest buffer.
    pub fn plan(&self) -> Plan {
        let (_, table) = &self.tables.tables[0];
        let launches = self.sequences.outputs.len();
        Plan::new()
            .bytes_in(STEPS * LAYERS * self.layer_bytes())
            .launches(launches, launches * WIDTH.max(table.len()))
    }

    /// The copies without attention.
    pub fn only_copies(&mut self, copies: &Stream) -> anyhow::Result<()> {
        for (_, layer) in self.order() {
            let from = &self.on_host[layer];
            self.rotating.turn(copies, |pages| pages.copy_from(from))?;
        }
        Ok(())
    }

    /// Attention without the copies.
    pub fn only_attention(&mut self, attention: &Stream) -> anyhow::Result<()> {
        for place in self.order() {
            let (kernels, tables, sequences) = (&self.kernels, &self.tables, &mut self.sequences);
            self.rotating.turn(attention, |pages| {
                sequences.attend(kernels, tables.of(pages)?, place)
            })?;
        }
        Ok(())
    }

    /// Makes every result of an earlier run unrecognisable.
    pub fn poison(&mut self) -> Result<()> {
        self.rotating.poison()?;
        let mut outputs = self.sequences.outputs.iter_mut();
        outputs.try_for_each(DeviceBuffer::poison)
    }

    /// Compares every output with what the CPU computes.
    pub fn check(&mut self) -> anyhow::Result<Checked> {
        let count = self.sequences.count();
        let mut expected = vec![Vec::new(); self.sequences.outputs.len()];
        for number in 0..STEPS * count {
            let (step, sequence) = (number / count, number % count);
            let first = number * WIDTH..(number + 1) * WIDTH;
            let mut query: Vec<f64> = first.map(|index| f64::from(model::query(index))).collect();
            for (index, layer) in self.layers.iter().enumerate() {
                query = layer.attention(self.sequences.tokens, &query);
                expected[(step * LAYERS + index) * count + sequence].clone_from(&query);
            }
        }
        let mut checked = Checked::default();
        for (index, output) in self.sequences.outputs.iter().enumerate() {
            checked = checked.and(check::matching(
                "attention's outputs",
                index * WIDTH,
                &download(output)?,
                |at| expected[index][at % WIDTH] as f32,
                |got, expected| model::close(*got, f64::from(*expected)),
            )?);
        }
        Ok(checked)
    }
}
