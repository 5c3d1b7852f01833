//! A kernel's stores between its execution and its modelled end.

use std::ops::Range;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use super::allocation::Shadow;
use super::atomic_changes::Marks;
use super::{AddressSpace, Allocation, ByteRanges, PAGE};

/// A kernel's stores between its execution and its modelled end.
#[derive(Debug)]
pub struct HeldWrites {
    pub(super) touched: Vec<Touched>,
}

/// The pages of one allocation that the kernel stored to.
#[derive(Debug)]
pub(super) struct Touched {
    pub(super) base: u64,
    /// In rising order.
    pub(super) pages: Vec<u32>,
    /// The previous contents.
    pub(super) old: Shadow,
    /// The bytes to be written; `None` while memory itself shows them.
    pub(super) new: Option<Shadow>,
    /// The words that were changed by atomic operations, by page. Memory already shows the bytes to be written.
    pub(super) atomics: Vec<Marks>,
}

impl HeldWrites {
    pub(super) fn new(touched: Vec<Touched>) -> Self {
        Self { touched }
    }

    /// Whether a page with stores shares a byte with the `bytes` bytes at `address`.
    pub fn overlaps(&self, address: u64, bytes: usize) -> bool {
        self.touched
            .iter()
            .any(|touched| touched.overlaps(address, bytes))
    }

    /// The pages with stores.
    pub fn pages(&self) -> ByteRanges {
        self.touched.iter().flat_map(Touched::addresses).collect()
    }

    /// Whether an allocation with stores has a base that `predicate` is true of.
    pub fn any_allocation(&self, predicate: impl Fn(u64) -> bool) -> bool {
        self.touched.iter().any(|touched| predicate(touched.base))
    }

    /// Makes memory show the old bytes again, if it does not already, except those that atomic operations have changed.
    pub fn withdraw(&mut self, space: &AddressSpace) {
        for touched in &mut self.touched {
            if let Some(allocation) = space.find(touched.base) {
                touched.withdraw(allocation);
            }
        }
    }

    /// Makes the stores visible: exactly those bytes that the kernel changed, for others may have changed their
    /// neighbours meanwhile.
    pub fn land(self, space: &AddressSpace) {
        for touched in self.touched {
            if let Some(allocation) = space.find(touched.base) {
                touched.land(allocation);
            }
        }
    }
}

impl Touched {
    pub(super) fn new(base: u64, pages: Vec<u32>, old: Shadow, atomics: Vec<Marks>) -> Self {
        Self {
            base,
            pages,
            old,
            new: None,
            atomics,
        }
    }

    /// The addresses of its pages, in rising order.
    fn addresses(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let start_of = |page: u32| self.base + u64::from(page) * PAGE as u64;
        let pages = self.pages.iter();
        pages.map(move |page| start_of(*page)..start_of(*page + 1))
    }

    fn overlaps(&self, address: u64, bytes: usize) -> bool {
        let end = address.saturating_add(bytes as u64);
        let start_of = |page: u32| self.base + u64::from(page) * PAGE as u64;
        let first = self
            .pages
            .partition_point(|page| start_of(page + 1) <= address);
        self.pages
            .get(first)
            .is_some_and(|page| start_of(*page) < end)
    }

    fn withdraw(&mut self, allocation: &Allocation) {
        if self.new.is_some() {
            return;
        }
        let new = allocation.take_shadow();
        for page in &self.pages {
            let (start, len) = bounds(*page, allocation);
            // SAFETY: the page lies inside all three, `old` was filled when the page was first stored to, and no
            // kernel or copy is running while the simulation withdraws.
            unsafe {
                let memory = allocation.storage().add(start);
                let old = self.old.at(start);
                std::ptr::copy_nonoverlapping(memory, new.at(start), len);
                match self.marks(*page) {
                    None => std::ptr::copy_nonoverlapping(old, memory, len),
                    Some(marks) => marks.unmarked_words(len).for_each(|part| {
                        let (old, memory) = (old.add(part.start), memory.add(part.start));
                        std::ptr::copy_nonoverlapping(old, memory, part.len());
                    }),
                }
            }
        }
        self.new = Some(new);
    }

    fn land(self, allocation: &Allocation) {
        if let Some(new) = &self.new {
            for page in &self.pages {
                let (start, len) = bounds(*page, allocation);
                // SAFETY: the page lies inside all three, which do not overlap; both shadows are filled there, and
                // no kernel or copy is running while the simulation lands stores.
                let (memory, old, new) = unsafe {
                    (
                        from_raw_parts_mut(allocation.storage().add(start), len),
                        from_raw_parts(self.old.at(start).cast_const(), len),
                        from_raw_parts(new.at(start).cast_const(), len),
                    )
                };
                match self.marks(*page) {
                    None => copy_changes(memory, old, new),
                    Some(marks) => marks.unmarked_words(len).for_each(|part| {
                        let Range { start, end } = part;
                        copy_changes(&mut memory[start..end], &old[start..end], &new[start..end]);
                    }),
                }
            }
        }
        allocation.give_shadow(self.old);
        if let Some(new) = self.new {
            allocation.give_shadow(new);
        }
    }
}

pub(super) fn bounds(page: u32, allocation: &Allocation) -> (usize, usize) {
    let start = page as usize * PAGE;
    (start, PAGE.min(allocation.len() - start))
}

/// `memory[i] = new[i]` where `old[i]` differs from it.
fn copy_changes(memory: &mut [u8], old: &[u8], new: &[u8]) {
    for ((memory, old), new) in memory.iter_mut().zip(old).zip(new) {
        *memory = if old == new { *memory } else { *new };
    }
}
