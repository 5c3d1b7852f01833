//! What the stages hand on: the chunks in device memory, the ring that they pass through, and the functions of a run.

use super::function::{Function, transform};
use super::{A, B, Kernels};
use anyhow::Result;
use cust::event::{Event, EventFlags};
use cust::memory::{DeviceBuffer, LockedBuffer};
use examples_host::few_values::Batch;
use examples_host::prelude::*;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

const DATA: Batch = Batch::new(100);

/// The chunks in device memory, and the ring that they pass through.
pub struct Work {
    pub input: DeviceBuffer<f32>,
    pub results: DeviceBuffer<f32>,
    pub len: usize,
    pub ring: Vec<Slot>,
    /// Of the next stage; the hand-overs alone have none.
    pub kernels: Option<Kernels>,
    /// Of the present run.
    pub function: Arc<Function>,
    /// Of each run so far, and who called it.
    runs: RefCell<Vec<(&'static str, Arc<Function>)>>,
    /// Whether the functions were called in order, for each run that was checked.
    pub in_order: Vec<bool>,
}

/// A buffer of the ring, with an event for the end of each stage.
pub struct Slot {
    pub data: LockedBuffer<f32>,
    pub landed: Event,
    pub called: Event,
    pub emptied: Event,
}

impl Work {
    /// `chunks` chunks of `len` elements, and a ring of `buffers`.
    pub fn new(
        len: usize,
        chunks: usize,
        buffers: usize,
        kernels: Option<Kernels>,
    ) -> Result<Self> {
        let mut data = vec![0.0; len * chunks];
        DATA.fill(&mut data);
        let (input, results) =
            (DeviceBuffer::from_slice(&data)?, DeviceBuffer::zeroed(len * chunks)?);
        let mut ring = Vec::new();
        for _ in 0..buffers {
            ring.push(Slot {
                data: LockedBuffer::new(&0.0, len)?,
                // With BLOCKING_SYNC the thread that synchronises sleeps; without, it spins.
                landed: Event::new(EventFlags::DISABLE_TIMING | EventFlags::BLOCKING_SYNC)?,
                called: Event::new(EventFlags::DISABLE_TIMING)?,
                emptied: Event::new(EventFlags::DISABLE_TIMING)?,
            });
        }
        let (function, runs, in_order) = (Arc::default(), RefCell::default(), Vec::new());
        Ok(Self { input, results, len, ring, kernels, function, runs, in_order })
    }

    pub fn chunks(&self) -> Range<usize> {
        0..self.input.len() / self.len
    }

    pub fn range(&self, chunk: usize) -> Range<usize> {
        chunk * self.len..(chunk + 1) * self.len
    }

    pub fn slot(&mut self, chunk: usize) -> &mut Slot {
        let buffers = self.ring.len();
        &mut self.ring[chunk % buffers]
    }

    /// The function, called by the program's thread.
    pub fn call(&mut self, chunk: usize) {
        let function = Arc::clone(&self.function);
        function.call(chunk, &mut self.slot(chunk).data);
    }

    /// The function of the present run, in which this variant calls it.
    pub fn function(&self, variant: &'static str) -> impl Called + use<> {
        let function = Arc::clone(&self.function);
        self.runs.borrow_mut().push((variant, Arc::clone(&function)));
        move |chunk, data: &mut [f32]| function.call(chunk, data)
    }

    /// How busy the function was in the median of a variant's runs. Both times are of the same run, and so of the same core: cores of
    /// one machine differ by a factor of two, and a bound that was measured on another one says nothing.
    pub fn busy(&self, variant: &str) -> f64 {
        let runs = self.runs.borrow();
        let own = runs.iter().filter(|(of, _)| *of == variant);
        let mut busy: Vec<f64> = own.map(|(_, function)| function.busy()).collect();
        busy.sort_by(f64::total_cmp);
        busy.get(busy.len() / 2).copied().unwrap_or_default()
    }
}

/// What is called for each chunk.
pub trait Called: Fn(usize, &mut [f32]) + Clone + Send + 'static {}
impl<F: Fn(usize, &mut [f32]) + Clone + Send + 'static> Called for F {}

impl Workload for Work {
    fn poison(&mut self) -> Result<()> {
        self.function = Arc::default();
        self.ring.iter_mut().for_each(|slot| check::poison(&mut slot.data));
        Ok(self.results.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        self.in_order.push(self.function.calls().into_iter().eq(self.chunks()));
        let expected = |index| transform(index / self.len, DATA.given(index)).mul_add(A, B);
        Ok(check::equal("the results", 0, &self.results.as_host_vec()?, expected)?)
    }
}
