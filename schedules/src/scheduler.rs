//! A scheduler: it derives streams and events from what tasks read and write.
//!
//! A program hands over its tasks in the order in which one stream would run them, and declares for each what it reads and
//! what it writes. Two tasks conflict if both touch the same data and at least one of them writes; the later one must then
//! wait for the earlier one. All other tasks may run in any order, or at the same time.
//!
//! - *Streams.* A task that reads host memory is a copy in, one that writes host memory a copy out: each direction has its
//!   stream. Kernels take the stream that ends with a task that they wait for anyway, or else the one that has been idle for
//!   longest.
//! - *Events.* Every task records one. A task waits for those of its conflicts, but for what its stream knows already: each
//!   task has a vector clock, which counts for each stream the tasks that have ended when this one has.
//!
//! The order of the two parts is that of the file: [`Order`] decides and calls no driver, [`Scheduler`] does what it says.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::event::{Event, EventFlags};
use cust::stream::Stream;
use std::collections::HashMap;

/// Memory that tasks share: a buffer, or a piece of one that is used as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Data {
    name: &'static str,
    number: usize,
    on_host: bool,
}

impl Data {
    /// The piece of that number of an array in page-locked host memory.
    pub fn host(name: &'static str, number: usize) -> Self {
        Self { name, number, on_host: true }
    }

    /// The buffer of that name and number in device memory.
    pub fn device(name: &'static str, number: usize) -> Self {
        Self { name, number, on_host: false }
    }
}

/// Where a task runs, and the earlier tasks whose events its stream waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Placed {
    stream: usize,
    waits: Vec<usize>,
}

/// The tasks so far. The streams are numbered: copies in, kernels in all between, copies out.
#[derive(Clone, Debug)]
struct Order {
    /// The tasks of each stream.
    streams: Vec<Vec<usize>>,
    tasks: Vec<Task>,
    uses: HashMap<Data, Uses>,
}

#[derive(Clone, Debug)]
struct Task {
    stream: usize,
    /// How many tasks of each stream have ended when this one has.
    clock: Vec<usize>,
}

/// Who must be waited for by the next task that touches the data.
#[derive(Clone, Debug, Default)]
struct Uses {
    writer: Option<usize>,
    /// Since that task has written.
    readers: Vec<usize>,
}

impl Order {
    fn new(streams: usize) -> Self {
        Self { streams: vec![Vec::new(); streams], tasks: Vec::new(), uses: HashMap::new() }
    }

    /// Places the next task.
    fn add(&mut self, reads: &[Data], writes: &[Data]) -> Placed {
        let (task, conflicts) = (self.tasks.len(), self.conflicts(reads, writes));
        let stream = self.stream(reads, writes, &conflicts);
        let last = self.streams[stream].last();
        let mut clock =
            last.map_or(vec![0; self.streams.len()], |&last| self.tasks[last].clock.clone());
        let mut waits = Vec::new();
        // The latest first: it may know that the others have ended.
        for before in conflicts.into_iter().rev() {
            let Task { stream: other, clock: known } = &self.tasks[before];
            if clock[*other] < known[*other] {
                waits.push(before);
                clock.iter_mut().zip(known).for_each(|(own, known)| *own = *known.max(own));
            }
        }
        self.streams[stream].push(task);
        clock[stream] = self.streams[stream].len();
        self.tasks.push(Task { stream, clock });
        self.note(task, reads, writes);
        Placed { stream, waits }
    }

    /// The earlier tasks that this one must wait for, in their order.
    fn conflicts(&self, reads: &[Data], writes: &[Data]) -> Vec<usize> {
        let read = reads.iter().filter_map(|data| self.uses.get(data)?.writer);
        let written = writes.iter().filter_map(|data| self.uses.get(data));
        let written = written.flat_map(|uses| uses.writer.iter().chain(&uses.readers).copied());
        let mut tasks: Vec<usize> = read.chain(written).collect();
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }

    fn note(&mut self, task: usize, reads: &[Data], writes: &[Data]) {
        for data in reads {
            self.uses.entry(*data).or_default().readers.push(task);
        }
        for data in writes {
            let uses = Uses { writer: Some(task), readers: Vec::new() };
            self.uses.insert(*data, uses);
        }
    }

    fn stream(&self, reads: &[Data], writes: &[Data], conflicts: &[usize]) -> usize {
        let last = self.streams.len() - 1;
        if reads.iter().any(|data| data.on_host) {
            return 0;
        }
        if writes.iter().any(|data| data.on_host) {
            return last;
        }
        let ends_with = |stream: usize| self.streams[stream].last();
        let follows =
            |stream: &usize| ends_with(*stream).is_some_and(|task| conflicts.contains(task));
        let follower = (1..last).find(follows);
        follower.or_else(|| (1..last).min_by_key(|&stream| ends_with(stream))).unwrap_or(0)
    }
}

/// Enqueues tasks as the order of their declarations demands.
pub struct Scheduler<'s> {
    streams: Vec<&'s Stream>,
    order: Order,
    /// One for each task.
    events: Vec<Event>,
}

impl<'s> Scheduler<'s> {
    /// A scheduler for these streams: copies in, kernels in all between, copies out.
    pub fn new(streams: &[&'s Stream]) -> Self {
        Self { streams: streams.to_vec(), order: Order::new(streams.len()), events: Vec::new() }
    }

    /// Begins anew: what was enqueued so far has ended.
    pub fn restart(&mut self) {
        self.order = Order::new(self.streams.len());
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn device(number: usize) -> Data {
        Data::device("data", number)
    }

    #[test]
    fn copies_have_their_streams_and_a_kernel_follows_what_it_waits_for() {
        let (mut order, input, output) = (Order::new(4), Data::host("in", 0), Data::host("out", 0));
        let [x, y, z] = [0, 1, 2].map(device);
        let placed = |stream, waits: &[usize]| Placed { stream, waits: waits.to_vec() };
        assert_eq!(order.add(&[input], &[x]), placed(0, &[]));
        assert_eq!(order.add(&[x], &[y]), placed(1, &[0]));
        assert_eq!(order.add(&[x], &[z]), placed(2, &[0]));
        // Of the two streams that end with a task that it waits for, the first: only the other one has to be waited for.
        assert_eq!(order.add(&[y, z], &[z]), placed(1, &[2]));
        assert_eq!(order.add(&[z], &[output]), placed(3, &[3]));
        // Both readers of x, and what is known of them already.
        assert_eq!(order.add(&[input], &[x]), placed(0, &[2, 1]));
    }

    #[test]
    fn two_readers_are_not_ordered() {
        let mut order = Order::new(4);
        assert!(order.add(&[device(0)], &[device(1)]).waits.is_empty());
        assert!(order.add(&[device(0)], &[device(2)]).waits.is_empty());
    }

    /// Whether `before` has ended when `after` begins, by what the streams and the waits say.
    fn ordered(placed: &[Placed], before: usize, after: usize) -> bool {
        let in_stream = (0..after).rev().find(|&task| placed[task].stream == placed[after].stream);
        let direct = in_stream.into_iter().chain(placed[after].waits.iter().copied());
        direct
            .into_iter()
            .any(|task| task == before || task > before && ordered(placed, before, task))
    }

    proptest! {
        /// Every conflict is ordered, and no wait is for nothing: it is for a conflict that is not ordered without it.
        #[test]
        fn conflicts_are_ordered_and_nothing_else_is_waited_for(
            tasks in prop::collection::vec((prop::collection::vec(0..4usize, 0..3), prop::collection::vec(0..4usize, 0..2)), 1..12),
        ) {
            let mut order = Order::new(4);
            let tasks: Vec<[Vec<Data>; 2]> = tasks
                .into_iter()
                .map(|(reads, writes)| [reads, writes].map(|of| of.into_iter().map(device).collect()))
                .collect();
            let placed: Vec<Placed> = tasks.iter().map(|[reads, writes]| order.add(reads, writes)).collect();
            let conflict = |a: usize, b: usize| {
                let ([reads, writes], [later_reads, later_writes]) = (&tasks[a], &tasks[b]);
                let meets = |some: &[Data], others: &[Data]| some.iter().any(|data| others.contains(data));
                meets(writes, later_reads) || meets(writes, later_writes) || meets(reads, later_writes)
            };
            for after in 0..tasks.len() {
                for before in (0..after).filter(|&before| conflict(before, after)) {
                    prop_assert!(ordered(&placed, before, after), "{before} before {after}: {placed:?}");
                }
                for &wait in &placed[after].waits {
                    prop_assert!(conflict(wait, after));
                    prop_assert!(placed[wait].stream != placed[after].stream);
                }
            }
        }
    }
}
