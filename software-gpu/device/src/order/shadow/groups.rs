//! Groups by where they are: an access looks only at those near it, however many there are.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::group::Group;
use crate::order::visited;

/// The spans of at most this many groups may overlap at one place.
const DEEP: usize = if cfg!(test) { 3 } else { 16 };

/// The groups of one allocation. Their spans may overlap, but no two begin at the same byte: it belongs to one of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// By the power of 2 below the length of the span, and its start.
    all: BTreeMap<Key, Group>,
    /// A bit for each power that there has been lately.
    powers: u64,
}

type Key = (u32, u64);

impl Groups {
    pub(super) fn insert(&mut self, group: Group) {
        let key = key(&group.span());
        self.powers |= 1 << key.0;
        self.all.insert(key, group);
    }

    /// Whether not too many groups of this length or longer ones are here: what is accessed here looks at all of them.
    pub(super) fn has_room(&self, span: &Range<u64>) -> bool {
        let power = key(span).0;
        let near = self.keys(span).filter(|keys| keys.start.0 >= power);
        let near = near.flat_map(|keys| self.all.range(keys));
        let over = near.filter(|(_, group)| group.span().end > span.start);
        over.take(DEEP).count() < DEEP
    }

    /// The group that spans just this.
    pub(super) fn at(&mut self, span: &Range<u64>) -> Option<&mut Group> {
        self.all.get_mut(&key(span))
    }

    /// The groups whose spans overlap this range.
    pub(super) fn near(&self, range: Range<u64>) -> impl Iterator<Item = &Group> {
        let near = self.keys(&range);
        let near = near.flat_map(|keys| self.all.range(keys));
        near.map(|(_, group)| {
            visited::group();
            group
        })
        .filter(move |group| group.span().end > range.start)
    }

    /// Removes those near this range that are not wanted any more.
    pub(super) fn take(
        &mut self,
        range: Range<u64>,
        unwanted: impl Fn(&Group) -> bool,
    ) -> Vec<Group> {
        if self.all.is_empty() {
            return Vec::new();
        }
        let gone = self.near(range).filter(|group| unwanted(group));
        let gone: Vec<Key> = gone.map(|group| key(&group.span())).collect();
        self.remove(gone)
    }

    /// The same of those near one of these ranges, which are in rising order.
    pub(super) fn take_of(
        &mut self,
        ranges: &[Range<u64>],
        unwanted: impl Fn(&Group) -> bool,
    ) -> Vec<Group> {
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else {
            return Vec::new();
        };
        if self.all.is_empty() {
            return Vec::new();
        }
        let mut near = self.near(first.start..last.end);
        let few = near.by_ref().take(ranges.len());
        let gone = few.filter(|group| unwanted(group));
        let gone: Vec<Key> = gone.map(|group| key(&group.span())).collect();
        let is_all = near.next().is_none();
        drop(near);
        if is_all {
            return self.remove(gone);
        }
        let mut near = BTreeSet::new();
        for range in ranges {
            near.extend(self.near(range.clone()).map(|group| key(&group.span())));
        }
        let is_unwanted = |key: &Key| self.all.get(key).is_some_and(&unwanted);
        let gone = near.into_iter().filter(is_unwanted).collect();
        self.remove(gone)
    }

    fn remove(&mut self, keys: Vec<Key>) -> Vec<Group> {
        let gone = keys.into_iter().filter_map(|key| self.all.remove(&key));
        gone.collect()
    }

    /// Changes those within this range.
    pub(super) fn change_within(&mut self, range: &Range<u64>, mut change: impl FnMut(&mut Group)) {
        let within: Vec<_> = self.keys(range).collect();
        for keys in within {
            for (_, group) in self.all.range_mut(keys) {
                visited::group();
                if group.is_within(range) {
                    change(group);
                }
            }
        }
    }

    /// Changes all groups, and removes those for which `keep` returns `false`.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&mut Group) -> bool) {
        self.all.retain(|_, group| keep(group));
        let powers = self.all.keys().map(|(power, _)| 1 << power);
        self.powers = powers.fold(0, |all, power| all | power);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.all.values()
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Keys of all groups that may have bytes of this range: a range of keys for each power.
    fn keys(&self, range: &Range<u64>) -> impl Iterator<Item = Range<Key>> + use<> {
        let Range { start, end } = *range;
        let mut powers = self.powers;
        std::iter::from_fn(move || {
            let power = (powers != 0).then(|| powers.trailing_zeros())?;
            powers &= powers - 1;
            let longest = (1_u64 << power) - 1 + (1 << power);
            let from = (start + 1).saturating_sub(longest).min(end);
            Some((power, from)..(power, end))
        })
    }
}

fn key(span: &Range<u64>) -> Key {
    ((span.end - span.start).max(1).ilog2(), span.start)
}
