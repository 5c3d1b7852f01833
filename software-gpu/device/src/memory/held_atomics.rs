//! Changes by the atomic operations of a running kernel: which reader must not see them yet, and which writer has overwritten them.

use std::ops::Range;

use super::atomic_changes::{self, CELL, Marks, WORD, commute};
use super::held_writes::{HeldWrites, Touched, bounds};
use super::{AddressSpace, Allocation, PAGE};

impl HeldWrites {
    /// As [`any_allocation`](Self::any_allocation), of allocations with atomic operations.
    pub fn any_atomics(&self, predicate: impl Fn(u64) -> bool) -> bool {
        let mut touched = self.touched.iter();
        touched.any(|touched| !touched.atomics.is_empty() && predicate(touched.base))
    }

    /// Where atomic operations have changed memory, in allocations with a base that `predicate` is true of: addresses for
    /// [`update_cell`](super::update_cell).
    pub fn atomic_cells(&self, space: &AddressSpace, predicate: impl Fn(u64) -> bool) -> Vec<u64> {
        let touched = self.touched.iter();
        let touched = touched.filter(|touched| predicate(touched.base));
        let found = touched.filter_map(|touched| Some((touched, space.find(touched.base)?)));
        let cells = found.flat_map(|(touched, allocation)| touched.atomic_cells(allocation));
        cells.collect()
    }

    /// Whether atomic operations have changed one of these bytes.
    pub fn changes_atomically(&self, range: &Range<u64>, space: &AddressSpace) -> bool {
        let found = self.touched_at(range.start, space);
        found.is_some_and(|(touched, allocation)| {
            let offset = |address: u64| (address - allocation.base()) as usize;
            touched.changes_atomically(offset(range.start)..offset(range.end))
        })
    }

    /// The cell at `address`, which is `now`, without what atomic operations of these kernels have changed. The kernel that
    /// was executed last comes first.
    pub fn without_atomics<'a>(
        kernels: impl Iterator<Item = &'a Self>,
        space: &AddressSpace,
        address: u64,
        now: u64,
    ) -> u64 {
        kernels.fold(now, |now, kernel| {
            let found = kernel.touched_at(address, space);
            found.map_or(now, |(touched, allocation)| {
                touched.without_atomics(allocation, address, now)
            })
        })
    }

    /// The cell at `address`, which is `now`, after the change from `from` to `to`, which atomic operations of these kernels have made.
    pub fn with_atomics<'a>(
        kernels: impl Iterator<Item = &'a Self>,
        space: &AddressSpace,
        address: u64,
        (from, to): (u64, u64),
        now: u64,
    ) -> u64 {
        let marks = Self::marks_of_all(kernels, space, address);
        atomic_changes::apply_change(now, from, to, marks)
    }

    /// The addresses of the words of a cell that have become `now` although they were `seen`, and whose new value atomic operations of
    /// these kernels cannot continue: they are neither additions nor changes of bits.
    pub fn lost_words<'a>(
        kernels: impl Iterator<Item = &'a Self>,
        space: &AddressSpace,
        address: u64,
        (seen, now): (u64, u64),
    ) -> Vec<u64> {
        let marks = Self::marks_of_all(kernels, space, address);
        let lost = atomic_changes::lost_words(seen, now, marks);
        lost.map(|word| address + word).collect()
    }

    fn marks_of_all<'a>(
        kernels: impl Iterator<Item = &'a Self>,
        space: &AddressSpace,
        address: u64,
    ) -> [u8; 2] {
        let marks = kernels.filter_map(|kernel| {
            let (touched, allocation) = kernel.touched_at(address, space)?;
            touched.marks_of_cell((address - allocation.base()) as usize)
        });
        marks.fold([0; 2], |all, own| [all[0] | own[0], all[1] | own[1]])
    }

    /// Another operation is about to overwrite these bytes: earlier atomic changes to them become void.
    pub fn overwritten(&mut self, address: u64, bytes: usize, space: &AddressSpace) {
        let Some(allocation) = space.find(address) else {
            return;
        };
        let start = (address - allocation.base()) as usize;
        let mut touched = self.touched.iter_mut();
        if let Some(own) = touched.find(|touched| touched.base == allocation.base()) {
            own.overwritten(allocation, start..allocation.len().min(start + bytes));
        }
    }

    /// Another kernel ends: as [`overwritten`](Self::overwritten), where its stores change something, and, if it `went_on` with what this
    /// one has left, where its atomic operations do not commute with this one's. Returns the addresses of the words.
    pub fn overwritten_by(
        &mut self,
        other: &Self,
        went_on: bool,
        space: &AddressSpace,
    ) -> Vec<u64> {
        let mut overwritten = Vec::new();
        for own in &mut self.touched {
            let theirs = other.touched.iter().find(|theirs| theirs.base == own.base);
            if let (Some(theirs), Some(allocation)) = (theirs, space.find(own.base)) {
                let words = own.words_overwritten_by(theirs, went_on, allocation);
                for word in words {
                    overwritten.push(allocation.base() + word.start as u64);
                    own.overwritten(allocation, word);
                }
            }
        }
        overwritten
    }

    fn touched_at<'s>(
        &self,
        address: u64,
        space: &'s AddressSpace,
    ) -> Option<(&Touched, &'s Allocation)> {
        let allocation = space.find(address)?;
        let mut touched = self.touched.iter();
        let own = touched.find(|touched| touched.base == allocation.base())?;
        Some((own, allocation))
    }
}

impl Touched {
    /// Its place in `atomics`.
    fn marked_page(&self, page: usize) -> Option<usize> {
        let page = u32::try_from(page).ok()?;
        let found = self.atomics.binary_search_by_key(&page, |marks| marks.page);
        found.ok()
    }

    pub(super) fn marks(&self, page: u32) -> Option<&Marks> {
        Some(&self.atomics[self.marked_page(page as usize)?])
    }

    fn marks_of_cell(&self, offset: usize) -> Option<[u8; 2]> {
        let page = self.marked_page(offset / PAGE)?;
        Some(self.atomics[page].of_cell(offset % PAGE))
    }

    fn atomic_cells(&self, allocation: &Allocation) -> impl Iterator<Item = u64> {
        let base = allocation.base();
        self.atomics.iter().flat_map(move |marks| {
            let (start, len) = bounds(marks.page, allocation);
            let cells = marks.cells(len);
            cells.map(move |cell| base + (start + cell.start) as u64)
        })
    }

    fn changes_atomically(&self, range: Range<usize>) -> bool {
        let mut cells = (range.start / CELL * CELL..range.end).step_by(CELL);
        cells.any(|cell| {
            let marks = self.marks_of_cell(cell).unwrap_or_default();
            let mut words = (cell..).step_by(WORD).zip(marks);
            words.any(|(word, mark)| mark != 0 && word < range.end && range.start < word + WORD)
        })
    }

    /// What the kernel leaves there.
    fn left(&self, allocation: &Allocation, offset: usize) -> *mut u8 {
        match &self.new {
            Some(new) => new.at(offset),
            None => allocation.storage().wrapping_add(offset),
        }
    }

    fn without_atomics(&self, allocation: &Allocation, address: u64, now: u64) -> u64 {
        let offset = (address - allocation.base()) as usize;
        let marks = self.marks_of_cell(offset).unwrap_or_default();
        if marks == [0; 2] {
            return now;
        }
        let len = CELL.min(allocation.len() - offset);
        // SAFETY: the cell lies inside of both. A page with atomic operations was saved before them, and, when stores were
        // withdrawn, kept.
        let [old, new] = [self.old.at(offset), self.left(allocation, offset)]
            .map(|cell| unsafe { atomic_changes::read(cell, len) });
        atomic_changes::apply_change(now, new, old, marks)
    }

    fn overwritten(&mut self, allocation: &Allocation, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        for page in range.start / PAGE..range.end.div_ceil(PAGE) {
            let Some(at) = self.marked_page(page) else {
                continue;
            };
            let start = page * PAGE;
            let within = range.start.max(start) - start..range.end.min(start + PAGE) - start;
            let forgotten: Vec<_> = self.atomics[at].forget(within).collect();
            for word in forgotten {
                let at = start + word.start;
                let len = word.len().min(allocation.len() - at);
                let new = self.left(allocation, at);
                // SAFETY: the word lies inside of both shadows, or of the shadow and memory, which do not overlap.
                unsafe { std::ptr::copy_nonoverlapping(new, self.old.at(at), len) };
            }
        }
    }

    /// The words with atomic operations that another kernel's stores change, or its atomic operations if it `went_on`.
    fn words_overwritten_by(
        &self,
        theirs: &Self,
        went_on: bool,
        allocation: &Allocation,
    ) -> Vec<Range<usize>> {
        let mut words = Vec::new();
        for marks in &self.atomics {
            if theirs.pages.binary_search(&marks.page).is_err() {
                continue;
            }
            let (start, len) = bounds(marks.page, allocation);
            let of_theirs = theirs.marks(marks.page);
            for word in marks.marked_words(len) {
                let range = start + word.start..start + word.end;
                let overwritten = match of_theirs.map_or(0, |theirs| theirs.of_word(word.start)) {
                    0 => theirs.changes(allocation, range.clone()),
                    later => went_on && !commute(marks.of_word(word.start), later),
                };
                if overwritten {
                    words.push(range);
                }
            }
        }
        words
    }

    /// Whether the kernel leaves something else in these bytes of a page with stores than was there.
    fn changes(&self, allocation: &Allocation, range: Range<usize>) -> bool {
        // SAFETY: the bytes lie inside of both, and pages with stores are filled in both.
        range.into_iter().any(|offset| unsafe {
            self.old.at(offset).read() != self.left(allocation, offset).read()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AllocationKind, AtomicChange, WriteHold, without_atomics};
    use super::*;

    const BYTES: usize = 2 * PAGE;

    /// One allocation, and kernels that were executed one after the other and run.
    struct OneAllocation {
        space: AddressSpace,
        base: u64,
        kernels: Vec<HeldWrites>,
    }

    impl OneAllocation {
        fn new() -> Self {
            let mut space = AddressSpace::new(&[1 << 20], 1 << 20);
            let kind = AllocationKind::Device;
            let base = space.allocate(0, BYTES, kind).expect("fits");
            let kernels = Vec::new();
            Self {
                space,
                base,
                kernels,
            }
        }

        fn poke(&self, offset: usize, value: u32) {
            let to = self.space.storage(self.base + offset as u64, 4);
            // SAFETY: `storage` has found that many bytes, and the test has one thread.
            unsafe { to.expect("mapped").cast::<u32>().write_unaligned(value) };
        }

        fn peek(&self, offset: usize) -> u32 {
            let from = self.space.storage(self.base + offset as u64, 4);
            // SAFETY: as above.
            unsafe { from.expect("mapped").cast::<u32>().read_unaligned() }
        }

        /// A kernel leaves those values at those offsets: by atomic operations, or by stores.
        fn kernel(&mut self, values: &[(usize, u32, Option<AtomicChange>)]) {
            for kernel in &mut self.kernels {
                kernel.withdraw(&self.space);
            }
            let hold = WriteHold::new(&self.space);
            let allocation = self.space.find(self.base).expect("mapped");
            for (offset, value, change) in values {
                hold.before_store(allocation, *offset, 4);
                self.poke(*offset, *value);
                if let Some(change) = change {
                    hold.changed_atomically(allocation, *offset, 4, *change);
                }
            }
            self.kernels.push(hold.suspend());
        }

        /// What streams see.
        fn settled(&mut self, offset: usize) -> Option<u64> {
            for kernel in &mut self.kernels {
                kernel.withdraw(&self.space);
            }
            let newest_first = self.kernels.iter().rev();
            without_atomics(&self.space, self.base + offset as u64, 4, newest_first)
        }

        fn end(&mut self, index: usize) {
            let ended = self.kernels.remove(index);
            for (at, other) in self.kernels.iter_mut().enumerate() {
                other.withdraw(&self.space);
                other.overwritten_by(&ended, at < index, &self.space);
            }
            ended.land(&self.space);
        }
    }

    const ADDS: Option<AtomicChange> = Some(AtomicChange::Adds);
    const OTHER: Option<AtomicChange> = Some(AtomicChange::Other);

    #[test]
    fn a_count_is_there_for_kernels_at_once_and_for_others_at_the_kernels_end() {
        let mut scene = OneAllocation::new();
        scene.kernel(&[(8, 1, ADDS)]);
        scene.kernel(&[(8, 3, ADDS)]);
        assert_eq!((scene.peek(8), scene.settled(8)), (3, Some(0)));
        scene.end(1);
        assert_eq!((scene.peek(8), scene.settled(8)), (3, Some(2)));
        scene.end(0);
        assert_eq!((scene.peek(8), scene.settled(8)), (3, Some(3)));
    }

    #[test]
    fn a_kernel_that_ends_takes_along_what_does_not_commute_with_it() {
        for (earlier, later, settled) in [
            (OTHER, OTHER, 9),
            (ADDS, OTHER, 9),
            (OTHER, ADDS, 9),
            (ADDS, Some(AtomicChange::Bits), 9),
            (ADDS, ADDS, 2),
            (Some(AtomicChange::Bits), Some(AtomicChange::BitsAgain), 9),
            (Some(AtomicChange::BitsAgain), Some(AtomicChange::Bits), 8),
        ] {
            let mut scene = OneAllocation::new();
            scene.kernel(&[(PAGE + 4, 7, earlier)]);
            scene.kernel(&[(PAGE + 4, 9, later)]);
            scene.end(1);
            let case = format!("{earlier:?} {later:?}");
            assert_eq!(scene.settled(PAGE + 4), Some(settled), "{case}");
            scene.end(0);
            assert_eq!(scene.settled(PAGE + 4), Some(9), "{case}");
        }
    }

    #[test]
    fn a_kernel_that_ends_takes_along_nothing_of_one_after_it() {
        let mut scene = OneAllocation::new();
        scene.kernel(&[(PAGE + 4, 7, OTHER)]);
        scene.kernel(&[(PAGE + 4, 9, OTHER)]);
        scene.end(0);
        assert_eq!(scene.settled(PAGE + 4), Some(7));
    }

    #[test]
    fn a_write_over_a_count_stays() {
        let mut scene = OneAllocation::new();
        scene.kernel(&[(8, 1, ADDS), (12, 1, ADDS)]);
        assert_eq!(scene.settled(8), Some(0));
        scene.kernels[0].overwritten(scene.base + 8, 4, &scene.space);
        scene.poke(8, 5);
        assert_eq!((scene.settled(8), scene.settled(12)), (Some(5), Some(0)));
        scene.end(0);
        assert_eq!((scene.settled(8), scene.settled(12)), (Some(5), Some(1)));
    }

    #[test]
    fn a_kernels_stores_over_a_count_stay() {
        let mut scene = OneAllocation::new();
        scene.kernel(&[(8, 1, ADDS), (12, 1, ADDS)]);
        scene.kernel(&[(8, 5, None), (12, 2, ADDS)]);
        assert_eq!((scene.settled(8), scene.settled(12)), (Some(0), Some(0)));
        scene.end(1);
        assert_eq!((scene.settled(8), scene.settled(12)), (Some(5), Some(1)));
        scene.end(0);
        assert_eq!((scene.settled(8), scene.settled(12)), (Some(5), Some(2)));
    }
}
