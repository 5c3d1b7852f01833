//! In which stream a task runs, and which earlier ones it waits for.

#[cfg(test)]
mod tests;

use super::Data;
use std::collections::HashMap;

/// Where a task runs, and the earlier tasks whose events its stream waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    pub stream: usize,
    pub waits: Vec<usize>,
}

/// The tasks so far. The streams are numbered: copies in, kernels in all between, copies out.
#[derive(Clone, Debug)]
pub struct TaskOrder {
    /// The tasks of each stream.
    streams: Vec<Vec<usize>>,
    pub tasks: Vec<Task>,
    uses: HashMap<Data, Uses>,
}

#[derive(Clone, Debug)]
pub struct Task {
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

impl TaskOrder {
    pub fn new(streams: usize) -> Self {
        Self { streams: vec![Vec::new(); streams], tasks: Vec::new(), uses: HashMap::new() }
    }

    /// Places the next task.
    pub fn add(&mut self, reads: &[Data], writes: &[Data]) -> Placed {
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
