//! Which operation waits for which other one through events.
//!
//! An event stands for what its stream had before the record: its last operation, and everything that the stream was made to wait for since then. A
//! wait makes the stream's next operation depend on that.

use std::collections::BTreeMap;

/// The last operation of each stream, by the stream's number.
type Frontier = BTreeMap<u64, u64>;

/// What streams and events stand for at present.
#[derive(Debug, Default)]
pub(super) struct Edges {
    last: Frontier,
    /// What the next operation of a stream has to wait for.
    awaited: BTreeMap<u64, Frontier>,
    events: BTreeMap<u64, Frontier>,
}

impl Edges {
    pub(super) const fn new() -> Self {
        Self {
            last: Frontier::new(),
            awaited: BTreeMap::new(),
            events: BTreeMap::new(),
        }
    }

    /// An operation was submitted. Adds what it waits for to `dependencies`.
    pub(super) fn submitted(
        &mut self,
        stream: u64,
        operation: u64,
        dependencies: &mut Vec<(u64, u64)>,
    ) {
        let awaited = self.awaited.remove(&stream).unwrap_or_default();
        dependencies.extend(awaited.into_values().map(|from| (from, operation)));
        self.last.insert(stream, operation);
    }

    /// An event was recorded.
    pub(super) fn recorded(&mut self, event: u64, stream: u64) {
        let mut frontier = self.awaited.get(&stream).cloned().unwrap_or_default();
        frontier.extend(self.last.get(&stream).map(|&last| (stream, last)));
        self.events.insert(event, frontier);
    }

    /// A stream was made to wait for an event. It waits for itself in any case.
    pub(super) fn waited(&mut self, event: u64, stream: u64) {
        let Some(frontier) = self.events.get(&event) else {
            return;
        };
        let awaited = self.awaited.entry(stream).or_default();
        for (&other, &operation) in frontier.iter().filter(|(other, _)| **other != stream) {
            let last = awaited.entry(other).or_default();
            *last = operation.max(*last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: u64 = 7;

    #[test]
    fn a_wait_joins_the_last_operation_before_the_record_and_the_next_one_behind_the_wait() {
        let (mut edges, mut found) = (Edges::new(), Vec::new());
        edges.submitted(1, 10, &mut found);
        edges.submitted(1, 11, &mut found);
        edges.recorded(EVENT, 1);
        edges.submitted(1, 12, &mut found);
        edges.waited(EVENT, 2);
        edges.waited(EVENT, 2);
        edges.waited(EVENT, 1);
        edges.submitted(2, 13, &mut found);
        edges.submitted(2, 14, &mut found);
        edges.submitted(1, 15, &mut found);
        assert_eq!(found, [(11, 13)]);
    }

    #[test]
    fn a_stream_without_work_passes_on_what_it_waits_for() {
        let (mut edges, mut found) = (Edges::new(), Vec::new());
        edges.submitted(1, 10, &mut found);
        edges.recorded(EVENT, 1);
        edges.waited(EVENT, 2);
        edges.recorded(EVENT, 2);
        edges.waited(EVENT, 3);
        edges.waited(99, 3);
        edges.submitted(3, 11, &mut found);
        assert_eq!(found, [(10, 11)]);
    }
}
