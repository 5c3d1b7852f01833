//! A scheduler: it derives streams and events from what tasks read and write.
//!
//! A program hands over its tasks in the order in which one stream would run them, and declares for each what it reads and
//! what it writes. Two tasks conflict if both touch the same data and at least one of them writes; the later one must then
//! wait for the earlier one. All other tasks may run in any order, or at the same time.
//!
//! - *Streams.* A task that reads host memory is a copy in, one that writes host memory a copy out: each direction has its
//!   stream. Kernels take the stream that ends with a task that they wait for anyway, or else the one that has been idle for
//!   longest.
//! - *Events.* Every task records one. A task waits for those of its conflicts, except those that its stream knows already: each
//!   task has a vector clock, which counts for each stream the tasks that have ended when this one has.
//!
//! `order.rs` decides and calls no driver; [`Scheduler`] does what it says.

mod order;

use crate::scheduler::order::{Placed, TaskOrder};
use anyhow::Result;
use cuda_host::prelude::*;

/// Memory that tasks share: a buffer, or a piece of one that is used as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Data {
    name: &'static str,
    number: usize,
    on_host: bool,
}

impl Data {
    /// The piece of that number of an array in page-locked host memory.
    pub const fn host(name: &'static str, number: usize) -> Self {
        Self { name, number, on_host: true }
    }

    /// The buffer of that name and number in device memory.
    pub const fn device(name: &'static str, number: usize) -> Self {
        Self { name, number, on_host: false }
    }
}

/// Enqueues tasks as the order of their declarations demands.
pub struct Scheduler<'s> {
    streams: Vec<&'s Stream>,
    order: TaskOrder,
    /// One for each task.
    events: Vec<Event>,
}

impl<'s> Scheduler<'s> {
    /// A scheduler for these streams: copies in, kernels in all between, copies out.
    pub fn new(streams: &[&'s Stream]) -> Self {
        Self { streams: streams.to_vec(), order: TaskOrder::new(streams.len()), events: Vec::new() }
    }

    /// Begins anew: what was enqueued so far has ended.
    pub fn restart(&mut self) {
        self.order = TaskOrder::new(self.streams.len());
    }

    /// Enqueues a task behind all earlier ones with which it conflicts.
    ///
    /// # Errors
    /// What `enqueue` or the driver returns.
    pub fn task(
        &mut self,
        reads: impl AsRef<[Data]>,
        writes: impl AsRef<[Data]>,
        enqueue: impl FnOnce(&Stream) -> Result<()>,
    ) -> Result<()> {
        let task = self.order.tasks.len();
        let Placed { stream, waits } = self.order.add(reads.as_ref(), writes.as_ref());
        let stream = self.streams[stream];
        for before in waits {
            stream.wait(&self.events[before])?;
        }
        enqueue(stream)?;
        if task == self.events.len() {
            self.events.push(Event::new(EventFlags::DISABLE_TIMING)?);
        }
        Ok(self.events[task].record(stream)?)
    }
}
