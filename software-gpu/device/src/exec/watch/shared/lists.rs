//! Lists of loads for the few granules that need one. A granule has the number of its list, so that it can be copied.
//!
//! What an earlier [era](super::super::order::Order::era) did is never looked at again: when one ends, all lists are free.

use std::num::NonZeroU32;

use super::history::Kept;

/// Which list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct List(NonZeroU32);

/// All lists.
#[derive(Default)]
pub(super) struct Lists {
    /// Free lists keep their allocation for reuse.
    all: Vec<Vec<Kept>>,
    /// Number of lists taken since the last reset: a bump index.
    taken: usize,
    /// Lists below `taken` that were returned.
    free: Vec<List>,
}

impl List {
    #[inline(always)]
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl Lists {
    /// An empty one.
    #[cold]
    pub fn take(&mut self) -> List {
        let list = self.free.pop().unwrap_or_else(|| {
            self.taken += 1;
            let number = u32::try_from(self.taken).ok().and_then(NonZeroU32::new);
            List(number.expect("granules of shared memory are fewer"))
        });
        match self.all.get_mut(list.index()) {
            Some(loads) => loads.clear(),
            None => self.all.push(Vec::new()),
        }
        list
    }

    /// Returns a list that is not used again.
    #[inline(always)]
    pub fn give_back(&mut self, list: Option<List>) {
        self.free.extend(list);
    }

    /// Returns all lists: an era has ended.
    #[inline(always)]
    pub fn give_all_back(&mut self) {
        self.taken = 0;
        self.free.clear();
    }

    /// The blocks on it.
    #[inline(always)]
    pub fn of(&self, list: Option<List>) -> &[Kept] {
        list.map_or(&[], |list| &self.all[list.index()])
    }

    /// The list, to be changed.
    #[inline(always)]
    pub fn list(&mut self, list: List) -> &mut Vec<Kept> {
        &mut self.all[list.index()]
    }

    /// The number of lists in use.
    #[cfg(test)]
    pub fn taken(&self) -> usize {
        self.taken - self.free.len()
    }
}
