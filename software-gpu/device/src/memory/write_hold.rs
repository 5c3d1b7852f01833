//! Keeps what a running kernel overwrites.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use super::allocation::Shadow;
use super::atomic_changes::{AtomicChange, Marking};
use super::held_writes::{HeldWrites, Touched};
use super::{AddressSpace, Allocation, PAGE};

/// States of a page. One that is [`SAVED`] may be stored to.
const UNTOUCHED: u8 = 0;
const SAVING: u8 = 1;
const SAVED: u8 = 2;

/// Keeps the old bytes of every page that one running kernel stores to.
///
/// All threads that execute the grid share it. A thread calls [`before_store`](Self::before_store) before each
/// store; the first one to reach a page copies it away while the others wait for that page only.
#[derive(Debug)]
pub struct WriteHold<'a> {
    space: &'a AddressSpace,
    /// Bases of allocations that the kernel cannot reach.
    hidden: BTreeSet<u64>,
    /// By slot of the allocation.
    tables: Vec<OnceLock<PageTable>>,
}

#[derive(Debug)]
struct PageTable {
    base: u64,
    states: Box<[AtomicU8]>,
    old: Shadow,
    atomics: Marking,
}

impl<'a> WriteHold<'a> {
    /// Nothing is held yet.
    pub fn new(space: &'a AddressSpace) -> Self {
        let tables = (0..space.slots()).map(|_| OnceLock::new()).collect();
        let hidden = BTreeSet::new();
        Self {
            space,
            hidden,
            tables,
        }
    }

    /// The same, for a kernel that cannot reach the allocations with these bases.
    pub fn without(self, hidden: BTreeSet<u64>) -> Self {
        Self { hidden, ..self }
    }

    /// The allocation that contains `address`, if the kernel can reach it.
    #[inline]
    pub fn find(&self, address: u64) -> Option<&'a Allocation> {
        let found = self.space.find(address)?;
        (self.hidden.is_empty() || !self.hidden.contains(&found.base())).then_some(found)
    }

    /// Whether `address` lies in an allocation that the kernel cannot reach.
    pub fn is_out_of_reach(&self, address: u64) -> bool {
        let found = self.space.find(address);
        found.is_some_and(|found| self.hidden.contains(&found.base()))
    }

    /// The memory that the kernel works on.
    pub fn space(&self) -> &'a AddressSpace {
        self.space
    }

    /// To be called before `len` bytes at `offset` of `allocation` are stored to.
    #[inline]
    pub fn before_store(&self, allocation: &Allocation, offset: usize, len: usize) {
        debug_assert!(len > 0 && offset + len <= allocation.len());
        let table = &self.tables[allocation.slot()];
        let table = table.get_or_init(|| PageTable::new(allocation));
        for page in offset / PAGE..=(offset + len - 1) / PAGE {
            if table.states[page].load(Ordering::Acquire) < SAVED {
                table.save(allocation, page);
            }
        }
    }

    /// To be called with an atomic read-modify-write of `len` bytes at `offset`, behind
    /// [`before_store`](Self::before_store): kernels that run at the same time share counters, so that the new value stays in
    /// memory when stores are withdrawn.
    #[inline]
    pub fn changed_atomically(
        &self,
        allocation: &Allocation,
        offset: usize,
        len: usize,
        change: AtomicChange,
    ) {
        if let Some(table) = self.tables[allocation.slot()].get() {
            table.atomics.mark(table.states.len(), offset, len, change);
        }
    }

    /// Ends the kernel's execution with its stores withdrawn: memory shows the old bytes again until they
    /// [`land`](HeldWrites::land).
    pub fn finish(self) -> HeldWrites {
        let space = self.space;
        let mut held = self.suspend();
        held.withdraw(space);
        held
    }

    /// Ends the kernel's execution with its stores still in place. Before other code may read the memory, call
    /// [`HeldWrites::withdraw`].
    pub fn suspend(self) -> HeldWrites {
        let touched = self.tables.into_iter().filter_map(OnceLock::into_inner);
        HeldWrites::new(touched.map(PageTable::into_touched).collect())
    }
}

impl PageTable {
    fn new(allocation: &Allocation) -> Self {
        let pages = allocation.len().div_ceil(PAGE);
        Self {
            base: allocation.base(),
            states: (0..pages).map(|_| AtomicU8::new(UNTOUCHED)).collect(),
            old: allocation.take_shadow(),
            atomics: Marking::default(),
        }
    }

    #[cold]
    fn save(&self, allocation: &Allocation, page: usize) {
        let state = &self.states[page];
        if state
            .compare_exchange(UNTOUCHED, SAVING, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            while state.load(Ordering::Acquire) < SAVED {
                std::hint::spin_loop();
            }
            return;
        }
        let start = page * PAGE;
        let len = PAGE.min(allocation.len() - start);
        // SAFETY: the page lies inside both; no thread stores to it before it is saved, and this thread alone writes
        // this part of the shadow.
        unsafe {
            std::ptr::copy_nonoverlapping(allocation.storage().add(start), self.old.at(start), len)
        };
        state.store(SAVED, Ordering::Release);
    }

    fn into_touched(self) -> Touched {
        let saved = |state: &AtomicU8| state.load(Ordering::Acquire) == SAVED;
        let pages = (0..self.states.len()).filter(|page| saved(&self.states[*page]));
        let pages = pages.map(|page| page as u32).collect();
        Touched::new(self.base, pages, self.old, self.atomics.into_marks())
    }
}

#[cfg(test)]
mod tests {
    use super::super::AllocationKind;
    use super::*;

    const BYTES: usize = 3 * PAGE + 100;

    fn space() -> (AddressSpace, u64) {
        let mut space = AddressSpace::new(&[1 << 20], 1 << 20);
        let base = space
            .allocate(0, BYTES, AllocationKind::Device)
            .expect("fits");
        (space, base)
    }

    fn store(hold: &WriteHold<'_>, base: u64, offset: usize, bytes: &[u8]) {
        let allocation = hold.space().find(base).expect("mapped");
        hold.before_store(allocation, offset, bytes.len());
        poke(hold.space(), base, offset, bytes);
    }

    fn poke(space: &AddressSpace, base: u64, offset: usize, bytes: &[u8]) {
        let to = space
            .storage(base + offset as u64, bytes.len())
            .expect("mapped");
        // SAFETY: `storage` checked the range.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }

    fn peek(space: &AddressSpace, base: u64, offset: usize) -> u8 {
        let from = space.storage(base + offset as u64, 1).expect("mapped");
        // SAFETY: `storage` checked the range.
        unsafe { from.read() }
    }

    #[test]
    fn stores_are_withdrawn_at_the_end_and_land_later() {
        let (space, base) = space();
        let hold = WriteHold::new(&space);
        store(&hold, base, PAGE - 1, &[1, 2]);
        store(&hold, base, BYTES - 1, &[3]);
        assert_eq!(peek(&space, base, PAGE), 2);
        let held = hold.finish();
        assert_eq!(peek(&space, base, PAGE - 1), 0);
        assert_eq!(peek(&space, base, BYTES - 1), 0);
        held.land(&space);
        assert_eq!(peek(&space, base, PAGE - 1), 1);
        assert_eq!(peek(&space, base, PAGE), 2);
        assert_eq!(peek(&space, base, BYTES - 1), 3);
    }

    #[test]
    fn two_kernels_may_store_to_one_page() {
        let (space, base) = space();
        let first = WriteHold::new(&space);
        store(&first, base, 10, &[1]);
        let first = first.finish();
        let second = WriteHold::new(&space);
        store(&second, base, 11, &[2]);
        second.finish().land(&space);
        first.land(&space);
        assert_eq!((peek(&space, base, 10), peek(&space, base, 11)), (1, 2));
    }

    #[test]
    fn what_landed_meanwhile_stays_where_the_kernel_did_not_store() {
        let (space, base) = space();
        let hold = WriteHold::new(&space);
        store(&hold, base, 0, &[1]);
        let held = hold.finish();
        poke(&space, base, 1, &[9]);
        held.land(&space);
        assert_eq!((peek(&space, base, 0), peek(&space, base, 1)), (1, 9));
    }

    #[test]
    fn an_atomic_result_is_visible_at_once_and_does_not_land_twice() {
        let (space, base) = space();
        let hold = WriteHold::new(&space);
        store(&hold, base, 64, &[7]);
        store(&hold, base, 0, &1_u32.to_le_bytes());
        let allocation = space.find(base).expect("mapped");
        hold.changed_atomically(allocation, 0, 4, AtomicChange::Adds);
        let held = hold.finish();
        assert_eq!((peek(&space, base, 0), peek(&space, base, 64)), (1, 0));
        poke(&space, base, 0, &2_u32.to_le_bytes());
        held.land(&space);
        assert_eq!((peek(&space, base, 0), peek(&space, base, 64)), (2, 7));
    }

    #[test]
    fn stores_left_in_place_need_not_land() {
        let (space, base) = space();
        let hold = WriteHold::new(&space);
        store(&hold, base, 5, &[4]);
        let held = hold.suspend();
        assert!(held.overlaps(base, 1));
        assert!(!held.overlaps(base + PAGE as u64, PAGE));
        held.land(&space);
        assert_eq!(peek(&space, base, 5), 4);
    }

    #[test]
    fn many_threads_share_a_hold() {
        let (space, base) = space();
        let hold = WriteHold::new(&space);
        std::thread::scope(|scope| {
            for thread in 0..4_usize {
                let hold = &hold;
                scope.spawn(move || {
                    for offset in (thread..BYTES).step_by(4) {
                        store(hold, base, offset, &[offset as u8 | 1]);
                    }
                });
            }
        });
        let held = hold.finish();
        assert!((0..BYTES).all(|offset| peek(&space, base, offset) == 0));
        held.land(&space);
        assert!((0..BYTES).all(|offset| peek(&space, base, offset) == offset as u8 | 1));
    }
}
