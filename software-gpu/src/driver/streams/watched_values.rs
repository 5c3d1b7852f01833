//! The values in memory that streams wait for or write, and who has written them: for the ordering checker.
//!
//! A wait comes after the write that released it. That is the earliest write since which its condition has held: a later
//! one, however welcome, may still have been under way. A value that changes while nothing of the device lands was
//! written by the host.

use std::collections::{BTreeMap, VecDeque};

use super::memory_values::Value;
use crate::driver::c_abi::types::CUdeviceptr;
use crate::driver::simulation::operation::Effect;
use crate::driver::simulation::simulator::Simulator;
use crate::memory::{ByteRanges, is_device_address};
use crate::order::ValueId;
use crate::timeline::OpId;

/// How many values of one place are remembered.
const REMEMBERED: usize = 8;

/// By address and width.
#[derive(Debug, Default)]
pub(in crate::driver) struct WatchedValues {
    histories: BTreeMap<(CUdeviceptr, bool), History>,
    given: u64,
}

#[derive(Debug)]
struct History {
    value: Value,
    /// What was there, and the write of it, the newest last.
    writes: VecDeque<(u64, ValueId)>,
}

impl WatchedValues {
    pub(in crate::driver) fn is_empty(&self) -> bool {
        self.histories.is_empty()
    }

    /// The write since which `wanted` has held.
    pub(in crate::driver) fn releasing(
        &self,
        value: Value,
        wanted: impl Fn(u64) -> bool,
    ) -> Option<ValueId> {
        let history = self.histories.get(&value.place())?;
        let newest_first = history.writes.iter().rev();
        let held = newest_first.take_while(|(found, _)| wanted(*found));
        held.last().map(|(_, write)| *write)
    }

    fn next(&mut self) -> ValueId {
        self.given += 1;
        ValueId(self.given)
    }
}

impl Simulator {
    /// A stream was given a wait for this value or a write of it.
    pub(in crate::driver) fn watch_value(&mut self, value: Value) {
        if !self.ordering.is_on() || self.watched.histories.contains_key(&value.place()) {
            return;
        }
        if let Some(found) = self.current(value) {
            let write = self.watched.next();
            self.ordering.value_watched(write, value.range());
            let writes = VecDeque::from([(found, write)]);
            let history = History { value, writes };
            self.watched.histories.insert(value.place(), history);
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
        let places = self.watched.histories.values();
        let values = places.map(|history| history.value);
        let values: Vec<Value> = values.filter(which).collect();
        for value in values {
            let Some(found) = self.current(value) else {
                let gone = self.watched.histories.remove(&value.place());
                let writes = gone.into_iter().flat_map(|history| history.writes);
                writes.for_each(|(_, write)| self.ordering.value_forgotten(write));
                continue;
            };
            let write = self.watched.next();
            let Some(history) = self.watched.histories.get_mut(&value.place()) else {
                continue;
            };
            if history
                .writes
                .back()
                .is_some_and(|(last, _)| *last == found)
            {
                continue;
            }
            self.ordering.value_written(write, writer);
            history.writes.push_back((found, write));
            if history.writes.len() > REMEMBERED
                && let Some((_, oldest)) = history.writes.pop_front()
            {
                self.ordering.value_forgotten(oldest);
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
