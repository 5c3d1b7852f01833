//! The values in memory that streams wait for or write, and who has written them: for the ordering checker.
//!
//! A wait comes after the write that released it. That is the earliest write since which its condition has held: a later
//! one, however welcome, may still have been under way. A value that changes while nothing of the device lands was
//! written by the host.

use std::collections::BTreeMap;

use super::memory_values::Value;
use super::value_history::{History, Summary};
use crate::driver::c_abi::types::CUdeviceptr;
use crate::driver::simulation::operation::Effect;
use crate::driver::simulation::simulator::Simulator;
use crate::memory::{ByteRanges, is_device_address};
use crate::order::ValueId;
use crate::timeline::OpId;

/// By address and width.
#[derive(Debug, Default)]
pub(in crate::driver) struct WatchedValues {
    places: BTreeMap<(CUdeviceptr, bool), Watched>,
    given: u64,
}

#[derive(Debug)]
struct Watched {
    value: Value,
    history: History<ValueId>,
}

impl WatchedValues {
    pub(in crate::driver) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The write since which `wanted` has held.
    pub(super) fn releasing(
        &self,
        value: Value,
        wanted: impl Fn(Summary) -> bool,
    ) -> Option<ValueId> {
        self.places.get(&value.place())?.history.since(wanted)
    }

    fn next(&mut self) -> ValueId {
        self.given += 1;
        ValueId(self.given)
    }
}

impl Simulator {
    /// A stream was given a wait for this value or a write of it.
    pub(in crate::driver) fn watch_value(&mut self, value: Value) {
        if !self.ordering.is_on() || self.watched.places.contains_key(&value.place()) {
            return;
        }
        if let Some(found) = self.current(value) {
            let write = self.watched.next();
            self.ordering.value_watched(write, value.range());
            let history = History::new(found, write);
            let watched = Watched { value, history };
            self.watched.places.insert(value.place(), watched);
        }
    }

    /// The operation has landed: which of the values it has written.
    pub(in crate::driver) fn landed(&mut self, op: OpId, effect: &Effect) {
        if self.watched.is_empty() {
            return;
        }
        let written = match effect {
            Effect::Kernel(_) => None,
            Effect::Copy(copy) => Some(copy.accesses().writes),
            Effect::Set(set) => Some(set.accesses().writes),
            Effect::WriteValue(value) => Some(value.range().into()),
            _ => return,
        };
        self.look(Some(op), |value| {
            let meets = |ranges: &ByteRanges| ranges.meets(&value.range());
            written.as_ref().is_none_or(meets)
        });
    }

    /// The host may have written page-locked memory.
    pub(in crate::driver) fn host_may_have_written(&mut self) {
        if !self.watched.is_empty() {
            self.look(None, |value| !is_device_address(value.address));
        }
    }

    /// Takes note of those values that have changed since the last time.
    fn look(&mut self, writer: Option<OpId>, which: impl Fn(&Value) -> bool) {
        let places = self.watched.places.values();
        let values = places.map(|watched| watched.value);
        let values: Vec<Value> = values.filter(which).collect();
        for value in values {
            self.look_at(value, writer);
        }
    }

    fn look_at(&mut self, value: Value, writer: Option<OpId>) {
        let found = self.current(value);
        let Self {
            watched, ordering, ..
        } = self;
        let write = watched.next();
        let Some(Watched { history, .. }) = watched.places.get_mut(&value.place()) else {
            return;
        };
        match found {
            Some(found) if history.newest() == Some(found) => {}
            Some(found) => {
                ordering.value_written(write, writer);
                history.push(found, write);
                history.forget(|write| ordering.is_known_to_all(write));
            }
            None => {
                let writes = history.writes();
                writes.for_each(|write| ordering.value_forgotten(write));
                watched.places.remove(&value.place());
            }
        }
    }

    /// What is there for other operations to see; `None` when the memory is gone.
    fn current(&mut self, value: Value) -> Option<u64> {
        let Self {
            effects, memory, ..
        } = self;
        effects.before_read(value.address, value.bytes(), memory);
        value.read(memory)
    }
}
