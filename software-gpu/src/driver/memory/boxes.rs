//! Boxes of bytes in memory: rows at regular distances, as 2-D and 3-D copies and memsets have them.

use std::ops::Range;

use crate::memory::ByteRanges;

/// How large a box is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Extent {
    /// Bytes of a row.
    pub(in crate::driver) width: usize,
    /// Rows of a slice.
    pub(in crate::driver) height: usize,
    /// Slices.
    pub(in crate::driver) depth: usize,
}

/// How far apart the rows of a box are, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Pitches {
    /// From the start of one row to that of the next.
    pub(in crate::driver) row: usize,
    /// From the start of one slice to that of the next.
    pub(in crate::driver) slice: usize,
}

/// A box of bytes, counted from its first one. No byte is in two rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Rows {
    pub(in crate::driver) extent: Extent,
    pub(in crate::driver) pitches: Pitches,
}

impl Extent {
    /// Contiguous bytes.
    pub(in crate::driver) const fn row(width: usize) -> Self {
        Self {
            width,
            height: 1,
            depth: 1,
        }
    }

    /// Bytes of all rows, if they are not more than an address can count.
    pub(in crate::driver) fn bytes(self) -> Option<usize> {
        self.width.checked_mul(self.height)?.checked_mul(self.depth)
    }

    /// How many rows there are.
    pub(in crate::driver) fn rows(self) -> usize {
        self.height.saturating_mul(self.depth)
    }
}

impl Rows {
    /// Contiguous bytes.
    pub(in crate::driver) const fn row(width: usize) -> Self {
        let pitches = Pitches {
            row: width,
            slice: width,
        };
        Self {
            extent: Extent::row(width),
            pitches,
        }
    }

    /// One slice.
    pub(in crate::driver) const fn rectangle(width: usize, height: usize, pitch: usize) -> Self {
        let depth = 1;
        Self {
            extent: Extent {
                width,
                height,
                depth,
            },
            pitches: Pitches {
                row: pitch,
                slice: 0,
            },
        }
    }

    /// The same bytes one behind the other.
    pub(in crate::driver) fn packed(self) -> Self {
        let Extent { width, height, .. } = self.extent;
        let pitches = Pitches {
            row: width,
            slice: width.saturating_mul(height),
        };
        Self { pitches, ..self }
    }

    /// Whether there is one row.
    pub(in crate::driver) fn is_flat(self) -> bool {
        self.extent.height == 1 && self.extent.depth == 1
    }

    /// Whether nothing lies between the rows.
    pub(in crate::driver) fn is_packed(self) -> bool {
        let Self { extent, pitches } = self;
        let rows_touch = extent.height <= 1 || pitches.row == extent.width;
        let slice = extent.width.checked_mul(extent.height);
        rows_touch && (extent.depth <= 1 || Some(pitches.slice) == slice)
    }

    /// Bytes without those between the rows.
    pub(in crate::driver) fn bytes(self) -> Option<usize> {
        self.extent.bytes()
    }

    /// Bytes from the first one to the end of the last row, if there are any and an address can count them.
    pub(in crate::driver) fn span(self) -> Option<usize> {
        let Self { extent, pitches } = self;
        let to_last_slice = pitches.slice.checked_mul(extent.depth.checked_sub(1)?)?;
        let to_last_row = pitches.row.checked_mul(extent.height.checked_sub(1)?)?;
        to_last_slice
            .checked_add(to_last_row)?
            .checked_add(extent.width)
    }

    /// Where the rows start.
    pub(in crate::driver) fn offsets(self) -> impl Iterator<Item = usize> {
        let Self { extent, pitches } = self;
        (0..extent.depth)
            .flat_map(move |z| (0..extent.height).map(move |y| z * pitches.slice + y * pitches.row))
    }

    /// The addresses of the bytes, when the first one has this address.
    pub(in crate::driver) fn ranges(self, base: u64) -> ByteRanges {
        let width = self.extent.width as u64;
        if self.is_packed() {
            return ByteRanges::from(base..base.saturating_add(self.bytes().unwrap_or(0) as u64));
        }
        let range = |offset: usize| -> Range<u64> {
            let start = base.saturating_add(offset as u64);
            start..start.saturating_add(width)
        };
        self.offsets().map(range).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube() -> Rows {
        Rows {
            extent: Extent {
                width: 3,
                height: 2,
                depth: 2,
            },
            pitches: Pitches { row: 4, slice: 16 },
        }
    }

    #[test]
    fn a_box_ends_with_its_last_row() {
        assert_eq!(cube().bytes(), Some(12));
        assert_eq!(cube().span(), Some(16 + 4 + 3));
        assert_eq!(cube().offsets().collect::<Vec<_>>(), [0, 4, 16, 20]);
        let ranges = cube().ranges(100);
        let rows = [100..103, 104..107, 116..119, 120..123];
        assert_eq!(ranges.iter().collect::<Vec<_>>(), rows);
    }

    #[test]
    fn packed_rows_are_one_range() {
        let packed = cube().packed();
        assert!(packed.is_packed() && !cube().is_packed());
        assert_eq!(packed.span(), Some(12));
        assert_eq!(packed.ranges(8), ByteRanges::from(8..20));
        assert!(Rows::row(7).is_packed());
        assert!(Rows::rectangle(4, 1, 0).is_packed());
        assert!(!Rows::rectangle(4, 2, 8).is_packed());
    }

    #[test]
    fn too_many_bytes_are_not_counted() {
        let huge = Rows::rectangle(usize::MAX, 2, usize::MAX);
        assert_eq!((huge.bytes(), huge.span()), (None, None));
        assert_eq!(Rows::rectangle(4, 0, 8).span(), None);
    }
}
