//! A set of the bytes of one allocation that changes by small and by large ranges.
//!
//! It is a tree: the bytes of a page have a bit each, and a page, or 512 of them, that is in the set as a whole or not at
//! all is one mark. So the cost of a change is proportional to its bytes, or far less for large ranges, and does not
//! depend on how scattered the set is.

use std::ops::Range;

use super::PAGE;

/// Bytes of one word of bits, and words of a page.
const WORD: usize = 64;
const WORDS: usize = PAGE / WORD;
/// Pages of a chunk.
const PAGES: usize = 512;

/// Offsets from the allocation's start.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByteSet {
    chunks: Vec<RangeState<Chunk>>,
    /// How many bytes are in the set.
    bytes: usize,
}

/// Some bytes in a row: none of them in the set, all of them, or what is inside tells.
#[derive(Clone, Debug)]
enum RangeState<T> {
    None,
    All,
    Some(Box<T>),
}

#[derive(Clone, Debug)]
struct Chunk([RangeState<Page>; PAGES]);

#[derive(Clone, Debug)]
struct Page([u64; WORDS]);

/// What a [`RangeState`] has inside.
trait Inside {
    /// How many bytes it stands for.
    const BYTES: usize;

    /// All of them in the set, or none.
    fn filled(with: bool) -> Self;

    /// Puts a range into the set or takes it out. Returns how many bytes have changed.
    fn fill(&mut self, range: Range<usize>, with: bool) -> usize;

    /// The first byte of the range that is in the set, or that is not. It may lie a little behind the range.
    fn next(&self, range: Range<usize>, set: bool) -> Option<usize>;
}

impl ByteSet {
    /// How many bytes are in it.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn insert(&mut self, range: Range<usize>) {
        self.bytes += self.fill(range, true);
    }

    pub fn remove(&mut self, range: Range<usize>) {
        self.bytes -= self.fill(range, false);
    }

    fn fill(&mut self, range: Range<usize>, with: bool) -> usize {
        if range.is_empty() {
            return 0;
        }
        let chunks = range.end.div_ceil(Chunk::BYTES);
        if self.chunks.len() < chunks {
            self.chunks.resize_with(chunks, || RangeState::None);
        }
        fill(&mut self.chunks, range, with)
    }

    /// Whether all bytes of the range are in the set.
    #[inline]
    pub fn covers(&self, range: Range<usize>) -> bool {
        self.next(range.clone(), false) >= range.end
    }

    /// The parts of the range that are not in the set, in rising order.
    pub fn gaps(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut at = range.start;
        std::iter::from_fn(move || {
            let start = self.next(at..range.end, false);
            if start >= range.end {
                return None;
            }
            at = self.next(start..range.end, true).min(range.end);
            Some(start..at)
        })
    }

    /// The first byte of the range that is in the set, or that is not. Without one, an offset behind the range.
    fn next(&self, range: Range<usize>, set: bool) -> usize {
        let behind = self.chunks.len() * Chunk::BYTES;
        let last = if set {
            usize::MAX
        } else {
            behind.max(range.start)
        };
        next(&self.chunks, range, set).unwrap_or(last)
    }
}

impl<T: Inside> RangeState<T> {
    fn fill(&mut self, range: Range<usize>, with: bool) -> usize {
        let is = match self {
            Self::None => false,
            Self::All => true,
            Self::Some(inside) if range.len() < T::BYTES => return inside.fill(range, with),
            Self::Some(inside) => {
                let changed = inside.fill(range, with);
                *self = if with { Self::All } else { Self::None };
                return changed;
            }
        };
        if is == with {
            return 0;
        }
        let changed = range.len();
        *self = match (changed < T::BYTES, with) {
            (false, true) => Self::All,
            (false, false) => Self::None,
            (true, _) => {
                let mut inside = Box::new(T::filled(is));
                inside.fill(range, with);
                Self::Some(inside)
            }
        };
        changed
    }

    fn next(&self, range: Range<usize>, set: bool) -> Option<usize> {
        match self {
            Self::None => (!set).then_some(range.start),
            Self::All => set.then_some(range.start),
            Self::Some(inside) => inside.next(range, set),
        }
    }
}

fn fill<T: Inside>(parts: &mut [RangeState<T>], range: Range<usize>, with: bool) -> usize {
    let touched = range.start / T::BYTES..range.end.div_ceil(T::BYTES);
    let each = touched.map(|index| {
        let start = index * T::BYTES;
        let within = range.start.max(start) - start..range.end.min(start + T::BYTES) - start;
        parts[index].fill(within, with)
    });
    each.sum()
}

fn next<T: Inside>(parts: &[RangeState<T>], range: Range<usize>, set: bool) -> Option<usize> {
    let last = range.end.div_ceil(T::BYTES).min(parts.len());
    (range.start / T::BYTES..last).find_map(|index| {
        let start = index * T::BYTES;
        let end = range.end.min(start + T::BYTES) - start;
        let found = parts[index].next(range.start.max(start) - start..end, set)?;
        Some(start + found)
    })
}

impl Inside for Chunk {
    const BYTES: usize = PAGES * PAGE;

    fn filled(with: bool) -> Self {
        Self(std::array::from_fn(|_| match with {
            true => RangeState::All,
            false => RangeState::None,
        }))
    }

    fn fill(&mut self, range: Range<usize>, with: bool) -> usize {
        fill(&mut self.0, range, with)
    }

    fn next(&self, range: Range<usize>, set: bool) -> Option<usize> {
        next(&self.0, range, set)
    }
}

impl Inside for Page {
    const BYTES: usize = PAGE;

    fn filled(with: bool) -> Self {
        Self([if with { !0 } else { 0 }; WORDS])
    }

    fn fill(&mut self, range: Range<usize>, with: bool) -> usize {
        let words = range.start / WORD..range.end.div_ceil(WORD);
        let each = words.map(|index| {
            let start = index * WORD;
            let from = range.start.max(start) - start;
            let to = range.end.min(start + WORD) - start;
            let bits = (!0 >> (WORD - (to - from))) << from;
            let word = &mut self.0[index];
            let changed = if with { bits & !*word } else { bits & *word };
            *word ^= changed;
            changed.count_ones() as usize
        });
        each.sum()
    }

    fn next(&self, range: Range<usize>, set: bool) -> Option<usize> {
        (range.start / WORD..range.end.div_ceil(WORD)).find_map(|index| {
            let start = index * WORD;
            let wanted = if set { self.0[index] } else { !self.0[index] };
            let wanted = wanted & (!0 << (range.start.max(start) - start));
            (wanted != 0).then(|| start + wanted.trailing_zeros() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BYTES: usize = Chunk::BYTES + 9 * PAGE;

    /// Ranges of all sizes, with borders of pages and chunks among them.
    fn ranges() -> impl Strategy<Value = Vec<(Range<usize>, bool)>> {
        let border = prop_oneof![
            0..BYTES,
            (0..BYTES / PAGE).prop_map(|page| page * PAGE),
            (0..2_usize).prop_map(|chunk| chunk * Chunk::BYTES),
            (0..1000_usize),
        ];
        let length = prop_oneof![0..200_usize, 0..2 * PAGE, 0..BYTES];
        let range = (border, length).prop_map(|(start, length)| {
            let end = (start + length).min(BYTES);
            start.min(end)..end
        });
        proptest::collection::vec((range, any::<bool>()), 1..12)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn a_byte_set_equals_a_set_of_single_bytes(changes in ranges(), (from, length) in (0..BYTES, 0..BYTES)) {
            let mut set = ByteSet::default();
            let mut naive = vec![false; BYTES];
            for (range, with) in changes {
                match with {
                    true => set.insert(range.clone()),
                    false => set.remove(range.clone()),
                }
                naive[range].fill(with);
                prop_assert_eq!(set.bytes(), naive.iter().filter(|is| **is).count());
            }
            let range = from..(from + length).min(BYTES);
            let mut gaps = vec![false; BYTES];
            let mut last = None;
            for gap in set.gaps(range.clone()) {
                prop_assert!(gap.start < gap.end && last.is_none_or(|last| last < gap.start));
                last = Some(gap.end);
                gaps[gap].fill(true);
            }
            let wanted = |at: usize| range.contains(&at) && !naive[at];
            prop_assert!((0..BYTES).all(|at| gaps[at] == wanted(at)));
            prop_assert_eq!(set.covers(range.clone()), !range.clone().any(|at| !naive[at]));
        }
    }
}
