//! The streams that wait for values in memory, and which of them there is a reason to look at.
//!
//! Device memory changes when an operation lands that writes there: then the waits for values there are looked at, however
//! many others there are. Page-locked memory can be written by the host at any time: waits for values there are looked at
//! before each step of the simulation.

use std::collections::{BTreeMap, BTreeSet};

use super::memory_values::{ValueWait, WIDEST};
use crate::driver::c_abi::types::CUdeviceptr;
use crate::memory::{ByteRanges, is_device_address};
use crate::timeline::OpId;

/// The pending waits, by the operation that waits.
#[derive(Debug, Default)]
pub(in crate::driver) struct ValueWaits {
    all: BTreeMap<OpId, ValueWait>,
    /// The waits for values in device memory, by address.
    of_device: BTreeMap<CUdeviceptr, BTreeSet<OpId>>,
    of_host: BTreeSet<OpId>,
    /// Waits for values in device memory that may be complete.
    changed: BTreeSet<OpId>,
    /// How many allocations were gone when they were looked at last.
    removals: u64,
}

impl ValueWaits {
    pub(in crate::driver) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(in crate::driver) fn insert(&mut self, op: OpId, wait: ValueWait) {
        self.all.insert(op, wait);
        let address = wait.value.address;
        if is_device_address(address) {
            self.of_device.entry(address).or_default().insert(op);
            self.changed.insert(op);
        } else {
            self.of_host.insert(op);
        }
    }

    pub(super) fn remove(&mut self, op: OpId) {
        let Some(ValueWait { value, .. }) = self.all.remove(&op) else {
            return;
        };
        self.of_host.remove(&op);
        if let Some(same) = self.of_device.get_mut(&value.address) {
            same.remove(&op);
            if same.is_empty() {
                self.of_device.remove(&value.address);
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (OpId, ValueWait)> + '_ {
        self.all.iter().map(|(op, wait)| (*op, *wait))
    }

    /// These bytes may have changed.
    pub(in crate::driver) fn written(&mut self, ranges: &ByteRanges) {
        if ranges.len() > self.of_device.len() {
            let meets = |wait: &ValueWait| ranges.meets(&wait.value.range());
            let met = self.all.iter().filter(|(_, wait)| meets(wait));
            self.changed.extend(met.map(|(op, _)| *op));
            return;
        }
        for range in ranges.iter() {
            let near = range.start.saturating_sub(WIDEST - 1)..range.end;
            let near = self.of_device.range(near);
            self.changed.extend(near.flat_map(|(_, ops)| ops));
        }
    }

    /// Takes in the number of allocations that have been removed so far.
    pub(super) fn removed(&mut self, removals: u64) {
        if std::mem::replace(&mut self.removals, removals) != removals {
            self.all_changed();
        }
    }

    /// Any of them may be complete.
    pub(in crate::driver) fn all_changed(&mut self) {
        self.changed = self.all.keys().copied().collect();
    }

    /// The waits that may have completed since the last call, in order of submission.
    pub(super) fn take_changed(&mut self) -> Vec<(OpId, ValueWait)> {
        let changed = std::mem::take(&mut self.changed);
        let all = changed.union(&self.of_host);
        all.filter_map(|op| Some((*op, *self.all.get(op)?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{OperationStage, Profile, Time, Timeline};

    const DEVICE: u64 = 1 << 48;

    /// Waits for values of 4 bytes, each at an address of its own.
    fn waits(count: u64, first: u64) -> (ValueWaits, Vec<OpId>) {
        let mut timeline = Timeline::new(&[Profile::h200()], 8);
        let stream = timeline.add_stream(0, 0);
        let mut waits = ValueWaits::default();
        let mut ops = Vec::new();
        for index in 0..count {
            let op = timeline.submit(stream, Time::ZERO, OperationStage::Marker, &[]);
            waits.insert(op, ValueWait::at(first + 4 * index));
            ops.push(op);
        }
        (waits, ops)
    }

    fn looked_at(waits: &mut ValueWaits) -> Vec<OpId> {
        let looked_at = waits.take_changed().into_iter();
        looked_at.map(|(op, _)| op).collect()
    }

    #[test]
    fn a_write_makes_only_the_waits_there_worth_a_look() {
        let (mut waits, ops) = waits(1000, DEVICE);
        assert_eq!(looked_at(&mut waits), ops, "each is looked at once");
        assert_eq!(looked_at(&mut waits), []);
        waits.written(&(DEVICE + 400..DEVICE + 404).into());
        let near = looked_at(&mut waits);
        assert!(near.contains(&ops[100]) && near.len() <= 2, "{near:?}");
        waits.remove(ops[100]);
        waits.written(&(DEVICE + 400..DEVICE + 404).into());
        assert!(!looked_at(&mut waits).contains(&ops[100]));
        waits.all_changed();
        assert_eq!(looked_at(&mut waits).len(), 999);
    }

    #[test]
    fn many_ranges_find_what_few_do() {
        let (mut waits, ops) = waits(10, DEVICE);
        waits.take_changed();
        let ranges = (0..100).map(|index| DEVICE + 36 + index * 8..DEVICE + 40 + index * 8);
        waits.written(&ranges.collect());
        assert_eq!(looked_at(&mut waits), [ops[9]]);
    }

    #[test]
    fn waits_for_what_the_host_can_write_are_always_looked_at() {
        let (mut waits, ops) = waits(3, 4096);
        for _ in 0..2 {
            assert_eq!(looked_at(&mut waits), ops);
        }
    }
}
