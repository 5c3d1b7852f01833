//! Which loads since the last store are remembered: of each warp the latest one, unless a later load of another
//! warp comes after it.
//!
//! Most granules are loaded by one warp or two. Where more load, they mostly run the same code, and so at the same stretch, from the
//! same line and with the same lanes: such a group is one load and a set of warps. What does not fit into the group has an entry by itself.

use super::super::super::context::Lanes;
use super::super::order::View;
use super::history::Kept;
use super::lists::{List, Lists};

/// The loads of a granule, or of all granules of a piece or a row, since the last store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Loads {
    pub first: Kept,
    pub second: Kept,
    /// Mask of further warps whose load equals `second` in all but the warp.
    same_as_second: u32,
    /// Loads that are like no other: one of each warp at most.
    others: Option<List>,
}

impl Loads {
    pub const NONE: Self = Self {
        first: Kept::NONE,
        second: Kept::NONE,
        same_as_second: 0,
        others: None,
    };

    /// The loads of `1 << size` granules from that one on.
    #[inline(always)]
    pub fn part(&self, lists: &mut Lists, granule: u32, size: u32) -> Self {
        Self {
            first: self.first.part(granule, size),
            second: self.second.part(granule, size),
            same_as_second: self.same_as_second,
            others: self.others_part(lists, granule, size),
        }
    }

    fn others_part(&self, lists: &mut Lists, granule: u32, size: u32) -> Option<List> {
        let count = lists.of(self.others).len();
        (count > 0).then(|| {
            let copy = lists.take();
            for index in 0..count {
                let load = lists.of(self.others)[index].part(granule, size);
                lists.list(copy).push(load);
            }
            copy
        })
    }

    /// A store comes after all of them, or races with one.
    #[inline(always)]
    pub fn clear(&mut self, lists: &mut Lists) {
        (self.first, self.second, self.same_as_second) = (Kept::NONE, Kept::NONE, 0);
        if let Some(others) = self.others {
            lists.list(others).clear();
        }
    }

    /// Returns the list: these loads are not needed again.
    #[inline(always)]
    pub fn end(&self, lists: &mut Lists) {
        lists.give_back(self.others);
    }

    /// Whether that holds for each load.
    #[inline(always)]
    pub fn all(&self, lists: &Lists, holds: impl Fn(&Kept) -> bool) -> bool {
        let two = holds(&self.first) && holds(&self.second);
        two && (!self.has_more() || self.more(lists).all(|load| holds(&load)))
    }

    /// The first load for which that holds.
    #[inline(always)]
    pub fn find(&self, lists: &Lists, holds: impl Fn(&Kept) -> bool) -> Option<Kept> {
        let mut two = [self.first, self.second].into_iter();
        two.find(&holds).or_else(|| self.more(lists).find(holds))
    }

    #[inline(always)]
    fn has_more(&self) -> bool {
        self.same_as_second != 0 || self.others.is_some()
    }

    #[cfg(test)]
    pub fn has_list(&self) -> bool {
        self.others.is_some()
    }

    /// The accesses of further warps.
    fn more(&self, lists: &Lists) -> impl Iterator<Item = Kept> {
        let further = Lanes(self.same_as_second).map(|warp| self.second.of_warp(warp));
        further.chain(lists.of(self.others).iter().copied())
    }

    /// Records a load that does not come after the first one.
    #[inline(always)]
    pub fn note_beside_first(&mut self, lists: &mut Lists, view: &View<'_>, now: Kept) {
        if self.first.is_at_time_of(&now) {
            self.note_lane(view, now);
        } else if self.same_as_second == 0 && self.second_yields(view, &now) {
            // A later lane of the same stretch adds no information for other warps.
            if !self.second.is_at_time_of(&now) && !self.is_among_others(lists, &now) {
                self.second = now;
            }
        } else if !self.is_noted(lists, &now) {
            match self.second.is_equal_access(&now) {
                true => self.same_as_second |= 1 << now.warp(),
                false => self.note_other(lists, now),
            }
        }
    }

    /// Records another lane's load, beside that of its warp and stretch.
    #[inline(always)]
    pub fn note_lane(&mut self, view: &View<'_>, now: Kept) {
        let own = self.second.warp() == now.warp();
        if self.same_as_second == 0 && (own || view.knows_all(self.second.moment())) {
            self.second = now;
        }
    }

    /// Whether a store that comes after `now` and the first load comes after the second one.
    #[inline(always)]
    fn second_yields(&self, view: &View<'_>, now: &Kept) -> bool {
        self.second.warp() == now.warp()
            || view.knows_all(self.second.moment())
            || self.second.warp() == self.first.warp()
                && self.second.stretch() <= self.first.stretch()
    }

    /// Whether a load of the same warp and stretch is remembered behind the first one.
    #[inline(always)]
    fn is_noted(&self, lists: &Lists, now: &Kept) -> bool {
        let in_group = self.second.stretch() == now.stretch()
            && (self.second.warp() == now.warp() || self.same_as_second >> now.warp() & 1 == 1);
        in_group || self.is_among_others(lists, now)
    }

    #[inline(always)]
    fn is_among_others(&self, lists: &Lists, now: &Kept) -> bool {
        let others = lists.of(self.others);
        others.iter().any(|load| load.is_at_time_of(now))
    }

    #[cold]
    fn note_other(&mut self, lists: &mut Lists, now: Kept) {
        let others = *self.others.get_or_insert_with(|| lists.take());
        let others = lists.list(others);
        match others.iter_mut().find(|load| load.warp() == now.warp()) {
            Some(earlier) => *earlier = now,
            None => others.push(now),
        }
    }
}
