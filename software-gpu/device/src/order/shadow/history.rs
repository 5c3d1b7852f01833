//! The accesses to some bytes with which later accesses can still conflict.
//!
//! Writes, atomic accesses and reads are kept apart, so that a read looks at no reads and an atomic access at no atomic
//! ones, however many streams they come from. What a later, ordered access has made superfluous goes when a list of its
//! kind grows: until then it is found as well, but only together with the later one, which covers it.

use std::sync::Arc;

use crate::order::clock::Clock;
use crate::order::kinds::Kinds;
use crate::order::site::Site;
use crate::order::visited;

/// At most this many accesses of a kind, the latest ones, are reported to an access that conflicts with them, and at most
/// this many unordered writes are remembered.
const MOST: usize = 64;

/// A list up to this length loses what is superfluous at every access.
const SHORT: usize = 8;

/// One operation's or host access's part in a [`History`].
#[derive(Clone, Debug)]
pub(in crate::order) struct Entry {
    pub(in crate::order) site: Arc<Site>,
    /// When it was executed, as a number that rises.
    pub(in crate::order) executed: u64,
    pub(in crate::order) kinds: Kinds,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.executed == other.executed && self.kinds == other.kinds
    }
}

/// Who accesses.
#[derive(Clone, Copy)]
pub(in crate::order) struct Accessor<'a> {
    pub(in crate::order) site: &'a Arc<Site>,
    pub(in crate::order) clock: &'a Clock,
    /// When it was executed, as a number that rises.
    pub(in crate::order) executed: u64,
}

impl Accessor<'_> {
    fn entry(&self, kinds: Kinds) -> Entry {
        Entry {
            site: Arc::clone(self.site),
            executed: self.executed,
            kinds,
        }
    }

    /// Whether it is a part of the access itself, or comes before.
    pub(super) fn comes_after(&self, entry: &Entry) -> bool {
        entry.executed == self.executed || self.clock.knows(entry.site.epoch)
    }
}

/// All accesses of the same bytes. In each list the latest one is the last.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct History {
    writes: Vec<Entry>,
    /// Mostly `None`.
    others: Option<Box<Others>>,
}

#[derive(Clone, Debug, Default)]
struct Others {
    atomics: Vec<Entry>,
    reads: Vec<Entry>,
}

impl PartialEq for Others {
    fn eq(&self, other: &Self) -> bool {
        same(&self.atomics, &other.atomics) && same(&self.reads, &other.reads)
    }
}

/// The latest ones are looked at first: they differ, if any do.
fn same(own: &[Entry], other: &[Entry]) -> bool {
    own.len() == other.len() && own.iter().rev().eq(other.iter().rev())
}

impl History {
    /// One access.
    pub(super) fn of(kinds: Kinds, by: Accessor<'_>) -> Self {
        let mut history = Self::default();
        if kinds.has(Kinds::WRITE) {
            history.writes = vec![by.entry(Kinds::WRITE)];
        } else {
            history.touch(kinds, by, |_| {});
        }
        history
    }

    /// Notes an access, and gives it the earlier ones that it conflicts with.
    pub(super) fn touch(
        &mut self,
        kinds: Kinds,
        by: Accessor<'_>,
        mut conflict: impl FnMut(&Entry),
    ) {
        if kinds.has(Kinds::WRITE) {
            return self.write(by, conflict);
        }
        conflicts(&self.writes, by, &mut conflict);
        if let Some(others) = &self.others {
            let (atomics, reads) = (&others.atomics, &others.reads);
            let (of_reads, of_atomics) = (kinds.has(Kinds::READ), kinds.has(Kinds::ATOMIC));
            conflicts(if of_reads { atomics } else { &[] }, by, &mut conflict);
            conflicts(if of_atomics { reads } else { &[] }, by, &mut conflict);
        }
        // What the operation writes, it may as well read.
        let last = self.writes.last();
        if last.is_some_and(|last| last.executed == by.executed) {
            return;
        }
        let Others { atomics, reads } = &mut **self.others.get_or_insert_default();
        for (kind, list) in [(Kinds::READ, reads), (Kinds::ATOMIC, atomics)] {
            if kinds.has(kind) {
                add(list, by.entry(kind), by);
            }
        }
    }

    /// A write replaces all that it comes after.
    fn write(&mut self, by: Accessor<'_>, mut conflict: impl FnMut(&Entry)) {
        replace(&mut self.writes, by, &mut conflict);
        if let Some(others) = &mut self.others {
            replace(&mut others.atomics, by, &mut conflict);
            replace(&mut others.reads, by, &mut conflict);
        }
        self.tidy();
        if self.writes.len() >= MOST {
            self.writes.remove(0);
        }
        self.writes.push(by.entry(Kinds::WRITE));
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        let reads = self.others.iter().flat_map(|others| &others.reads);
        self.writers().chain(reads)
    }

    /// The writes and atomic accesses.
    pub(super) fn writers(&self) -> impl Iterator<Item = &Entry> {
        let atomics = self.others.iter().flat_map(|others| &others.atomics);
        self.writes.iter().chain(atomics)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries().next().is_none()
    }

    /// Drops all others.
    pub(super) fn retain(&mut self, keep: impl Fn(&Entry) -> bool) {
        self.writes.retain(&keep);
        if let Some(others) = &mut self.others {
            others.atomics.retain(&keep);
            others.reads.retain(&keep);
        }
        self.tidy();
    }

    /// Drops lists in which nothing is left: so histories of the same accesses are equal.
    fn tidy(&mut self) {
        let others = self.others.take();
        self.others =
            others.filter(|others| !(others.atomics.is_empty() && others.reads.is_empty()));
    }
}

/// Passes the latest accesses of the list that are not ordered before this one to `conflict`. Returns whether those are all.
fn conflicts(list: &[Entry], by: Accessor<'_>, conflict: &mut impl FnMut(&Entry)) -> bool {
    let unordered = list.iter().rev().filter(|entry| {
        visited::entry();
        !by.comes_after(entry)
    });
    let mut found = 0;
    for entry in unordered.take(MOST) {
        conflict(entry);
        found += 1;
    }
    found < MOST
}

/// Returns the conflicts, and drops the accesses that are ordered before, unless very many are not.
fn replace(list: &mut Vec<Entry>, by: Accessor<'_>, conflict: &mut impl FnMut(&Entry)) {
    // After very many conflicts the list is not swept: a sweep for each access would make the time quadratic.
    if !list.is_empty() && conflicts(list, by, conflict) {
        list.retain(|entry| !by.comes_after(entry));
    }
}

/// Adds an access, which replaces those of its kind that happen before it. A long list is swept when it is full, and its
/// capacity then doubles: an access costs amortised O(1).
fn add(list: &mut Vec<Entry>, entry: Entry, by: Accessor<'_>) {
    if list.len() <= SHORT || list.len() == list.capacity() {
        list.retain(|earlier| {
            visited::entry();
            !by.comes_after(earlier)
        });
        if list.len() > SHORT {
            list.reserve(list.len());
        }
    }
    // An execution that touches the same bytes again adds no second entry.
    if list.last().is_none_or(|last| last.executed != by.executed) {
        list.push(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::clock::Epoch;
    use crate::order::ids::ThreadId;
    use crate::order::site::AccessSite;

    const ALL: [Kinds; 3] = [Kinds::READ, Kinds::WRITE, Kinds::ATOMIC];

    /// Accesses, each by a chain of its own, which come after all others or after none.
    #[derive(Default)]
    struct AccessRun {
        history: History,
        executed: u64,
        clock: Clock,
    }

    impl AccessRun {
        /// The accesses that it conflicts with.
        fn access(&mut self, kinds: Kinds, after_all: bool) -> Vec<u64> {
            self.executed += 1;
            let (executed, thread) = (self.executed, ThreadId::UNREGISTERED);
            let epoch = Epoch {
                chain: executed as usize,
                position: 1,
            };
            let place = AccessSite::Host {
                thread,
                access: executed,
            };
            let site = &Arc::new(Site::new(epoch, place, "access".into(), thread, executed));
            self.clock.learn(epoch);
            let clock = match after_all {
                true => &self.clock,
                false => &Clock::default(),
            };
            let by = Accessor {
                site,
                clock,
                executed,
            };
            let mut found = Vec::new();
            self.history
                .touch(kinds, by, |entry| found.push(entry.executed));
            found
        }

        fn left(&self) -> Vec<u64> {
            self.history.entries().map(|entry| entry.executed).collect()
        }
    }

    #[test]
    fn reads_meet_reads_and_atomics_meet_atomics() {
        for a in ALL {
            for b in ALL {
                let mut run = AccessRun::default();
                run.access(a, false);
                let peaceful = a == b && a != Kinds::WRITE;
                assert_eq!(run.access(b, false).is_empty(), peaceful, "{a:?} {b:?}");
                let mut both = run.access(Kinds::WRITE, false);
                both.sort_unstable();
                assert_eq!(both, [1, 2], "{a:?} {b:?}");
                assert_eq!(run.access(Kinds::WRITE, true), []);
            }
        }
    }

    #[test]
    fn a_write_replaces_all_and_the_others_their_like() {
        let with_all = || {
            let mut run = AccessRun::default();
            for kinds in [Kinds::WRITE, Kinds::ATOMIC, Kinds::READ] {
                run.access(kinds, false);
            }
            run
        };
        for (kinds, left) in [
            (Kinds::WRITE, &[4][..]),
            (Kinds::READ, &[1, 2, 4]),
            (Kinds::ATOMIC, &[1, 4, 3]),
        ] {
            let mut run = with_all();
            run.access(kinds, true);
            assert_eq!(run.left(), left, "{kinds:?}");
        }
    }

    #[test]
    fn only_the_latest_of_very_many_conflicts_are_reported() {
        let mut run = AccessRun::default();
        let many = 3 * MOST as u64;
        (0..many).for_each(|_| drop(run.access(Kinds::READ, false)));
        let told: Vec<u64> = (many + 1 - MOST as u64..=many).rev().collect();
        assert_eq!(run.access(Kinds::WRITE, false), told);
        assert_eq!(run.access(Kinds::WRITE, true), []);
        assert_eq!(run.left(), [many + 2]);
    }
}
