//! What running kernels change by atomic operations.
//!
//! Kernels that run at the same time share counters and flags: the result of `atom` or `red` is in memory at once, for each
//! kernel that is executed from then on. For streams and the host it is there at the kernel's modelled end, as its stores are. So
//! of each word it is kept how the kernel has changed it. What one kernel has added to a counter, or which bits it has set, can
//! be taken back although others have continued the value. Where operations do not [commute](commute), a kernel that ends takes
//! along what those before it have done to the word: its result comes from theirs.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::{AddressSpace, HeldWrites, PAGE};

/// How an atomic operation changes memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicChange {
    /// It adds an integer.
    Adds,
    /// It sets bits, or clears them.
    Bits,
    /// It does so, and some of the bits already had their new value.
    BitsAgain,
    /// Anything else.
    Other,
}

/// Bytes of a word, of which there is one mark.
pub(super) const WORD: usize = 4;
/// Bytes of what is changed at a time: at the end of an allocation there may be less.
pub(super) const CELL: usize = 8;
const WORDS_PER_PAGE: usize = PAGE / WORD;

/// Marks of a word, one bit each.
const ADDS_4: u8 = 1;
const ADDS_8: u8 = 2;
const BITS: u8 = 4;
const OTHER: u8 = 8;
/// With `BITS`: some already had their new value, perhaps from another kernel.
const AGAIN: u8 = 16;

/// One mark for each word of a page.
type PerWord<Mark> = Box<[Mark; WORDS_PER_PAGE]>;

/// The words of one allocation while a kernel is executed.
#[derive(Debug, Default)]
pub(super) struct Marking {
    pages: OnceLock<Box<[OnceLock<PerWord<AtomicU8>>]>>,
}

/// The words of one page.
#[derive(Debug)]
pub(super) struct Marks {
    pub(super) page: u32,
    words: PerWord<u8>,
}

impl Marking {
    /// An operand of `len` bytes at `offset` of an allocation of that many pages was changed.
    #[inline]
    pub(super) fn mark(&self, pages: usize, offset: usize, len: usize, change: AtomicChange) {
        let all = self
            .pages
            .get_or_init(|| (0..pages).map(|_| OnceLock::new()).collect());
        let mark = match (change, len) {
            _ if !offset.is_multiple_of(len) => OTHER,
            (AtomicChange::Adds, 4) => ADDS_4,
            (AtomicChange::Adds, 8) => ADDS_8,
            (AtomicChange::Bits, _) => BITS,
            (AtomicChange::BitsAgain, _) => BITS | AGAIN,
            _ => OTHER,
        };
        for word in offset / WORD..=(offset + len - 1) / WORD {
            let page = all[word / WORDS_PER_PAGE].get_or_init(unmarked);
            let marks = &page[word % WORDS_PER_PAGE];
            if marks.load(Ordering::Relaxed) & mark != mark {
                marks.fetch_or(mark, Ordering::Relaxed);
            }
        }
    }

    /// The pages with marks, in rising order.
    pub(super) fn into_marks(self) -> Vec<Marks> {
        let pages = self.pages.into_inner().unwrap_or_default();
        let pages = pages.into_iter().zip(0..);
        let marked = pages.filter_map(|(words, page)| {
            let words = Box::new(words.into_inner()?.map(AtomicU8::into_inner));
            Some(Marks { page, words })
        });
        marked.collect()
    }
}

fn unmarked() -> PerWord<AtomicU8> {
    Box::new([const { AtomicU8::new(0) }; WORDS_PER_PAGE])
}

impl Marks {
    /// The words of the page's first `len` bytes that atomic operations have changed.
    pub(super) fn marked_words(&self, len: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        self.words_that_are(len, true)
    }

    /// The words of the page's first `len` bytes that no atomic operation has changed.
    pub(super) fn unmarked_words(&self, len: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        self.words_that_are(len, false)
    }

    fn words_that_are(&self, len: usize, marked: bool) -> impl Iterator<Item = Range<usize>> + '_ {
        let words = 0..len.div_ceil(WORD);
        let words = words.filter(move |word| (self.words[*word] != 0) == marked);
        words.map(move |word| word * WORD..len.min((word + 1) * WORD))
    }

    /// The marks of the word at that offset in the page; 0 if no atomic operation has changed it.
    pub(super) fn of_word(&self, offset: usize) -> u8 {
        self.words[offset / WORD]
    }

    /// The parts of the page's first `len` bytes in whose words there are such changes.
    pub(super) fn cells(&self, len: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let cells = (0..len.div_ceil(CELL)).filter(|cell| self.of_cell(cell * CELL) != [0; 2]);
        cells.map(move |cell| cell * CELL..len.min((cell + 1) * CELL))
    }

    /// The marks of the cell at that offset in the page.
    pub(super) fn of_cell(&self, offset: usize) -> [u8; 2] {
        let first = offset / CELL * (CELL / WORD);
        [self.words[first] & !AGAIN, self.words[first + 1] & !AGAIN]
    }

    /// Forgets the marks of bytes of the page. Returns the bytes of their words.
    pub(super) fn forget(&mut self, bytes: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let words = bytes.start / WORD..bytes.end.div_ceil(WORD);
        words.filter_map(|word| {
            let marked = std::mem::take(&mut self.words[word]) != 0;
            marked.then_some(word * WORD..(word + 1) * WORD)
        })
    }
}

/// Whether a kernel with the marks `earlier` of a word can be left out of what one with `later`, which was executed after it, has made
/// of the word.
pub(super) fn commute(earlier: u8, later: u8) -> bool {
    match later {
        ADDS_4 | ADDS_8 => earlier == later,
        BITS => earlier & !AGAIN == BITS,
        _ => false,
    }
}

/// `now`, the bytes of a cell, after the change that has led from `from` to `to`.
pub(super) fn apply_change(now: u64, from: u64, to: u64, marks: [u8; 2]) -> u64 {
    if marks == [ADDS_8; 2] {
        return now.wrapping_add(to.wrapping_sub(from));
    }
    let word = |index: usize| {
        let shift = u32::BITS * index as u32;
        let [now, from, to] = [now, from, to].map(|cell| (cell >> shift) as u32);
        let differ = from ^ to;
        let word = match marks[index] {
            ADDS_4 | ADDS_8 => now.wrapping_add(to.wrapping_sub(from)),
            BITS => now & !differ | to & differ,
            1.. if differ != 0 => to,
            _ => now,
        };
        u64::from(word) << shift
    };
    word(0) | word(1)
}

/// The offsets of the words of a cell that have become `now` although they were `seen`, and of which [`apply_change`] would not keep
/// what is there now.
pub(super) fn lost_words(seen: u64, now: u64, marks: [u8; 2]) -> impl Iterator<Item = u64> {
    let differ = seen ^ now;
    let words = [differ as u32, (differ >> u32::BITS) as u32].into_iter();
    let lost = words.zip(marks).zip([0, WORD as u64]);
    lost.filter(|((differ, mark), _)| *differ != 0 && !matches!(*mark, 0 | ADDS_4 | ADDS_8 | BITS))
        .map(|(_, offset)| offset)
}

/// The value of `bytes` bytes (4 or 8) at `address` without what these kernels, the one that was executed last first, have changed
/// by atomic operations. `None` when the memory was freed.
pub fn without_atomics<'a>(
    space: &AddressSpace,
    address: u64,
    bytes: usize,
    kernels: impl Iterator<Item = &'a HeldWrites> + Clone,
) -> Option<u64> {
    let allocation = space.find(address)?;
    let offset = allocation.offset_of(address, bytes)?;
    let mut value = [0; CELL];
    for cell in (offset / CELL * CELL..offset + bytes).step_by(CELL) {
        let len = CELL.min(allocation.len() - cell);
        // SAFETY: that many bytes are left there.
        let now = unsafe { read(allocation.storage().add(cell), len) };
        let cell_address = allocation.base() + cell as u64;
        let settled = HeldWrites::without_atomics(kernels.clone(), space, cell_address, now);
        for (at, byte) in (cell..).zip(settled.to_le_bytes()) {
            if (offset..offset + bytes).contains(&at) {
                value[at - offset] = byte;
            }
        }
    }
    Some(u64::from_le_bytes(value))
}

/// Replaces the cell at `address`, of which no byte may be outside of an allocation, by the result of `f`. Returns what it
/// was. When a thread of the host changes the cell meanwhile, `f` is called again: its last call counts.
pub fn update_cell(space: &AddressSpace, address: u64, f: impl FnMut(u64) -> u64) -> Option<u64> {
    let allocation = space.find(address)?;
    let offset = allocation.offset_of(address, 1)?;
    let len = CELL.min(allocation.len() - offset);
    // SAFETY: that many bytes are left there. Threads of the host may be changing page-locked memory.
    unsafe { Some(update(allocation.storage().add(offset), len, f)) }
}

/// The `len` bytes at `from`, at most a cell's.
///
/// # Safety
/// `from` is valid for reads of them.
pub(super) unsafe fn read(from: *mut u8, len: usize) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        if len == CELL && from.cast::<u64>().is_aligned() {
            return AtomicU64::from_ptr(from.cast())
                .load(Ordering::Relaxed)
                .to_le();
        }
        let mut cell = [0; CELL];
        std::ptr::copy_nonoverlapping(from, cell.as_mut_ptr(), len);
        u64::from_le_bytes(cell)
    }
}

/// Replaces the `len` bytes at `at`, at most a cell's, and returns what they were.
///
/// # Safety
/// `at` is valid for reads and writes of them.
unsafe fn update(at: *mut u8, len: usize, mut f: impl FnMut(u64) -> u64) -> u64 {
    use Ordering::Relaxed;
    // SAFETY: the caller's promise.
    unsafe {
        if len == CELL && at.cast::<u64>().is_aligned() {
            let cell = AtomicU64::from_ptr(at.cast());
            let new = |old: u64| Some(f(old.to_le()).to_le());
            cell.fetch_update(Relaxed, Relaxed, new)
                .unwrap_or_else(|old| old)
                .to_le()
        } else if len == WORD && at.cast::<u32>().is_aligned() {
            let word = AtomicU32::from_ptr(at.cast());
            let new = |old: u32| Some((f(old.to_le().into()) as u32).to_le());
            word.fetch_update(Relaxed, Relaxed, new)
                .unwrap_or_else(|old| old)
                .to_le()
                .into()
        } else {
            let old = read(at, len);
            let new = f(old).to_le_bytes();
            std::ptr::copy_nonoverlapping(new.as_ptr(), at, len);
            old
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_taken_back_from_what_others_have_added() {
        assert_eq!(apply_change(12, 7, 5, [ADDS_4, 0]), 10);
        assert_eq!(
            apply_change(12 << 32 | 3, 0, 5 << 32, [0, ADDS_4]),
            17 << 32 | 3
        );
        assert_eq!(
            apply_change(0, 5, 0, [ADDS_4, 0]),
            u32::MAX as u64 - 4,
            "4 bytes do not carry"
        );
        assert_eq!(
            apply_change(1 << 32 | 4, 1 << 32, u32::MAX.into(), [ADDS_8; 2]),
            1 << 32 | 3
        );
    }

    #[test]
    fn bits_that_another_has_set_stay() {
        assert_eq!(apply_change(0b111, 0b011, 0b001, [BITS, 0]), 0b101);
        assert_eq!(apply_change(0b111, 0b011, 0b011, [BITS, 0]), 0b111);
    }

    #[test]
    fn another_change_is_taken_back_with_all_that_came_later() {
        assert_eq!(apply_change(9, 7, 5, [OTHER, 0]), 5);
        assert_eq!(apply_change(9, 7, 5, [ADDS_4 | BITS, 0]), 5);
        assert_eq!(apply_change(9, 7, 7, [OTHER, 0]), 9, "nothing was changed");
        assert_eq!(apply_change(9, 7, 5, [0, 0]), 9);
    }

    #[test]
    fn marks_are_those_of_the_operands_words() {
        let marking = Marking::default();
        marking.mark(2, PAGE + 8, 8, AtomicChange::Adds);
        marking.mark(2, PAGE + 20, 2, AtomicChange::Other);
        marking.mark(2, PAGE + 28, 4, AtomicChange::Bits);
        marking.mark(2, PAGE + 28, 4, AtomicChange::Adds);
        let mut marks = marking.into_marks();
        let page = &mut marks[0];
        assert_eq!(page.page, 1);
        assert_eq!(page.of_cell(8), [ADDS_8; 2]);
        assert_eq!(page.of_cell(16), [0, OTHER]);
        assert_eq!(page.of_cell(24), [0, BITS | ADDS_4]);
        let cells: Vec<_> = page.cells(30).collect();
        assert_eq!(cells, [8..16, 16..24, 24..30]);
        let unmarked: Vec<_> = page.unmarked_words(30).collect();
        assert_eq!(unmarked, [0..4, 4..8, 16..20, 24..28]);
        assert_eq!(page.forget(0..13).collect::<Vec<_>>(), [8..12, 12..16]);
        assert_eq!(page.of_cell(8), [0; 2]);
    }
}
