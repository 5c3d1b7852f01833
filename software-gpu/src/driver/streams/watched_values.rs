//! The values in memory that streams wait for or write, and their writers: for the ordering checker.
//!
//! A wait comes after the write that released it. That is the earliest write since which its condition has held: a later
//! one, however welcome, may still have been under way. A kernel that has written by atomic operations has gone on with what
//! was there: the wait comes after those who wrote that, too, as after a release sequence in the PTX ISA.
//!
//! A value that changes while nothing of the device lands was written by the host. In page-locked memory it may do that
//! between any two calls: each call looks at the values there, but where there are many only at those with a pending wait or
//! write of a stream. The others are looked at before something lands on them.

use std::collections::{BTreeMap, BTreeSet};

use super::memory_values::{Value, WIDEST};
use super::value_history::{History, Summary};
use crate::driver::c_abi::types::CUdeviceptr;
use crate::driver::simulation::operation::Effect;
use crate::driver::simulation::simulator::Simulator;
use crate::memory::{ByteRanges, is_device_address};
use crate::order::ValueId;
use crate::timeline::OpId;

/// Address and width.
type WatchedWord = (CUdeviceptr, bool);

#[derive(Debug, Default)]
pub(in crate::driver) struct WatchedValues {
    places: BTreeMap<WatchedWord, Watched>,
    /// The values in page-locked memory.
    of_host: BTreeSet<WatchedWord>,
    /// The subset of `of_host` with pending waits or writes.
    pending_of_host: BTreeSet<WatchedWord>,
    given: u64,
    /// Compact when `places` reaches this length.
    room: usize,
}

#[derive(Debug)]
struct Watched {
    value: Value,
    history: History<ValueId>,
    /// Atomic operations since the newest write that have not changed the value.
    unseen: Option<ValueId>,
    /// Number of pending waits and writes.
    pending: usize,
}

/// The write that is about to become visible.
#[derive(Debug)]
pub(in crate::driver) struct Landing {
    /// Where it writes, as far as it matters for values.
    written: ByteRanges,
    /// The values there.
    values: Vec<Meeting>,
}

/// A value where something is about to land.
#[derive(Debug)]
struct Meeting {
    value: Value,
    /// The value, in page-locked memory.
    before: Option<u64>,
    how: How,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Whatever was there.
    Anew,
    /// By atomic operations of a kernel.
    Atomically,
}

/// Up to this number of values in page-locked memory, each call looks at all of them.
const FEW: usize = 64;

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

    /// The values that overlap these ranges.
    fn met_by(&self, ranges: &ByteRanges) -> Vec<Value> {
        let values = |places: &mut dyn Iterator<Item = &Watched>| -> Vec<Value> {
            let values = places.map(|watched| watched.value);
            values
                .filter(|value| ranges.meets(&value.range()))
                .collect()
        };
        if ranges.len() > self.places.len() {
            return values(&mut self.places.values());
        }
        let near = ranges.iter().flat_map(|range| {
            let from = range.start.saturating_sub(WIDEST - 1);
            self.places.range((from, false)..(range.end, false))
        });
        values(&mut near.map(|(_, watched)| watched))
    }

    fn next(&mut self) -> ValueId {
        self.given += 1;
        ValueId(self.given)
    }
}

impl Simulator {
    /// A stream is given a wait for this value or a write of it.
    pub(in crate::driver) fn watch_value(&mut self, value: Value) {
        if !self.ordering.is_on() {
            return;
        }
        if self.watched.places.contains_key(&value.place()) {
            if !is_device_address(value.address) {
                self.look_at(value);
            }
            return;
        }
        if let Some(found) = self.current(value) {
            self.forget_some_values();
            let write = self.watched.next();
            self.ordering.value_watched(write, value.range());
            let watched = Watched {
                value,
                history: History::new(found, write),
                unseen: None,
                pending: 0,
            };
            self.watched.places.insert(value.place(), watched);
            if !is_device_address(value.address) {
                self.watched.of_host.insert(value.place());
            }
        }
    }

    /// Removes values without pending waits and writes whose earlier writes happen before all later operations. They are
    /// watched anew when an operation uses them again.
    fn forget_some_values(&mut self) {
        let Self {
            watched, ordering, ..
        } = self;
        if watched.places.len() < watched.room {
            return;
        }
        let WatchedValues {
            places, of_host, ..
        } = watched;
        places.retain(
            |place,
             Watched {
                 history,
                 unseen,
                 pending,
                 ..
             }| {
                let mut writes = history.writes().chain(*unseen);
                let keep = *pending > 0 || writes.any(|write| !ordering.is_known_to_all(write));
                if !keep {
                    of_host.remove(place);
                }
                keep
            },
        );
        watched.room = (2 * watched.places.len()).max(FEW);
    }

    /// A stream was given a wait for this value or a write of it.
    pub(in crate::driver) fn value_pending(&mut self, value: Value) {
        if let Some(watched) = self.watched.places.get_mut(&value.place()) {
            watched.pending += 1;
            if !is_device_address(value.address) {
                self.watched.pending_of_host.insert(value.place());
            }
        }
    }

    /// A wait for this value or a write of it is complete.
    fn value_not_pending(&mut self, value: Value) {
        if let Some(watched) = self.watched.places.get_mut(&value.place()) {
            watched.pending = watched.pending.saturating_sub(1);
            if watched.pending == 0 {
                self.watched.pending_of_host.remove(&value.place());
            }
        }
    }

    /// The operation is about to land.
    pub(in crate::driver) fn about_to_land(&mut self, op: OpId, effect: &Effect) -> Landing {
        let written = match effect {
            _ if self.watched.is_empty() && self.value_waits.is_empty() => ByteRanges::new(),
            Effect::Kernel(_) => self.effects.stores(op),
            Effect::Copy(copy) => copy.accesses().writes,
            Effect::Set(set) => set.accesses().writes,
            Effect::WriteValue(value) => value.range().into(),
            _ => ByteRanges::new(),
        };
        let values = self.watched.met_by(&written).into_iter();
        let values = values.map(|value| {
            let range = value.range();
            let is_atomic = self.effects.changes_atomically(op, &range, &self.memory);
            let of_host = !is_device_address(value.address);
            Meeting {
                value,
                before: of_host.then(|| self.current(value)).flatten(),
                how: match is_atomic {
                    true => How::Atomically,
                    false => How::Anew,
                },
            }
        });
        Landing {
            values: values.collect(),
            written,
        }
    }

    /// The operation has landed.
    pub(in crate::driver) fn landed(&mut self, op: OpId, effect: &Effect, landing: Landing) {
        for Meeting { value, before, how } in landing.values {
            let found = self.current(value);
            if before.is_some() && before != found {
                self.note(value, before, None, How::Anew);
            }
            self.note(value, found, Some(op), how);
        }
        self.value_waits.written(&landing.written);
        match effect {
            Effect::WaitValue(wait) => self.value_not_pending(wait.value),
            Effect::WriteValue(value) => self.value_not_pending(*value),
            _ => {}
        }
    }

    /// The host may have written page-locked memory.
    pub(in crate::driver) fn host_may_have_written(&mut self) {
        let WatchedValues {
            places,
            of_host,
            pending_of_host,
            ..
        } = &self.watched;
        let worth_a_look = match of_host.len() <= FEW {
            true => of_host,
            false => pending_of_host,
        };
        let watched = worth_a_look.iter().filter_map(|place| places.get(place));
        let values: Vec<Value> = watched.map(|watched| watched.value).collect();
        values.into_iter().for_each(|value| self.look_at(value));
    }

    /// Records the value if the host has changed it since the last time.
    fn look_at(&mut self, value: Value) {
        let found = self.current(value);
        self.note(value, found, None, How::Anew);
    }

    /// Records what the value is.
    fn note(&mut self, value: Value, found: Option<u64>, writer: Option<OpId>, how: How) {
        let Self {
            watched, ordering, ..
        } = self;
        let write = watched.next();
        let place = watched.places.get_mut(&value.place());
        let Some(Watched {
            history, unseen, ..
        }) = place
        else {
            return;
        };
        match found {
            Some(found) if history.newest() == Some(found) => {
                if how == How::Atomically {
                    ordering.value_written(*unseen.get_or_insert(write), writer);
                }
            }
            Some(found) => {
                ordering.value_written(write, writer);
                if how == How::Atomically {
                    let earlier = history.newest_write().into_iter().chain(*unseen);
                    earlier.for_each(|earlier| ordering.value_continued(write, earlier));
                }
                if let Some(unseen) = unseen.take() {
                    ordering.value_forgotten(unseen);
                }
                history.push(found, write);
                history.forget(|write| ordering.is_known_to_all(write));
            }
            None => {
                let writes = history.writes().chain(*unseen);
                writes.for_each(|write| ordering.value_forgotten(write));
                watched.places.remove(&value.place());
                watched.of_host.remove(&value.place());
                watched.pending_of_host.remove(&value.place());
            }
        }
    }

    /// The value that other operations see; `None` when the memory was freed.
    fn current(&mut self, value: Value) -> Option<u64> {
        let Self {
            effects, memory, ..
        } = self;
        effects.before_read(value.address, value.bytes(), memory);
        effects.value(value, memory)
    }
}
