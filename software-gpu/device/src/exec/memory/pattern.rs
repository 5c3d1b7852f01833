//! What the addresses of a warp look like: the patterns that are served faster than others, and how far addresses reach.

use std::ops::{BitAnd, BitOr, BitXor};

use super::super::warp_handlers::LANES;
use super::Site;

/// A cell of an address row: of 32 or 64 bits.
pub(super) trait AddressCell:
    Copy + Ord + Into<u64> + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self>
{
    /// No bit set, and every bit.
    const ZERO: Self;
    const ONES: Self;

    /// The low bits of `value`.
    fn low_bits(value: u64) -> Self;

    /// The sum without its carry.
    fn plus(self, other: Self) -> Self;

    /// Every bit if `mask` has the lane, otherwise none.
    fn selected(mask: u32, lane: usize) -> Self;
}

macro_rules! address_cells {
    ($($cell:ty)*) => {$(
        impl AddressCell for $cell {
            const ZERO: Self = 0;
            const ONES: Self = !0;

            #[inline(always)]
            fn low_bits(value: u64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn selected(mask: u32, lane: usize) -> Self {
                Self::from(mask >> lane & 1).wrapping_neg()
            }
        }
    )*};
}

address_cells!(u32 u64);

/// Whether the cells are `first`, `first + bytes`, `first + 2 bytes`, ….
#[inline(always)]
fn contiguous<A: AddressCell>(row: &[A; LANES], bytes: u64) -> bool {
    let mut differs = A::ZERO;
    for (lane, &cell) in row.iter().enumerate() {
        differs = differs | cell ^ row[0].plus(A::low_bits(lane as u64 * bytes));
    }
    differs == A::ZERO && row[0] <= row[LANES - 1]
}

/// Lanes of half a warp: tiles of matrices are 16 wide.
pub(super) const HALF: usize = LANES / 2;

/// What the addresses of half a warp are, where they are simple.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HalfWarpPattern {
    /// `first`, `first + 4`, `first + 8`, …: words in a row.
    Row,
    /// All the same.
    Same,
}

/// The pattern of the addresses of a whole warp.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// One behind the other, as far apart as a lane has bytes.
    Row,
    /// The halves of a warp that accesses words, each by itself.
    Halves([HalfWarpPattern; 2]),
    /// Anything else.
    Any,
}

impl Pattern {
    /// The pattern of the lanes under a mask: `Any` unless all lanes take part.
    #[inline(always)]
    pub fn of<A: AddressCell>(site: &Site, row: &[A; LANES], mask: u32) -> Self {
        if mask != !0 {
            return Self::Any;
        }
        if (site.bytes, site.count, site.wide) != (4, 1, false) {
            return match contiguous(row, site.lane_bytes()) {
                true => Self::Row,
                false => Self::Any,
            };
        }
        let [Some(low), Some(high)] = [half(row, 0), half(row, HALF)] else {
            return Self::Any;
        };
        let follows = row[HALF] == row[0].plus(A::low_bits(4 * HALF as u64)) && row[0] < row[HALF];
        match [low, high] {
            [HalfWarpPattern::Row, HalfWarpPattern::Row] if follows => Self::Row,
            [HalfWarpPattern::Same, HalfWarpPattern::Same] if row[0] == row[HALF] => Self::Any,
            halves => Self::Halves(halves),
        }
    }
}

/// What the half warp from lane `first` on does, if it is simple.
#[inline(always)]
fn half<A: AddressCell>(row: &[A; LANES], first: usize) -> Option<HalfWarpPattern> {
    let (mut steps, mut differs) = (A::ZERO, A::ZERO);
    for lane in 0..HALF {
        let cell = row[first + lane];
        steps = steps | cell ^ row[first].plus(A::low_bits(4 * lane as u64));
        differs = differs | cell ^ row[first];
    }
    // The sums have no carry where the last cell is the largest.
    match (steps == A::ZERO, differs == A::ZERO) {
        (true, _) if row[first] <= row[first + HALF - 1] => Some(HalfWarpPattern::Row),
        (_, true) => Some(HalfWarpPattern::Same),
        _ => None,
    }
}

/// The lowest and the highest cell of the lanes under a mask, and the bits that any of them has.
pub(super) struct Extent {
    pub low: u64,
    pub high: u64,
    pub bits: u64,
}

impl Extent {
    #[inline(always)]
    pub fn of<A: AddressCell>(row: &[A; LANES], mask: u32) -> Self {
        let (mut low, mut high, mut bits) = (A::ONES, A::ZERO, A::ZERO);
        if mask == !0 {
            for cell in row {
                (low, high, bits) = (low.min(*cell), high.max(*cell), bits | *cell);
            }
        } else {
            for (lane, cell) in row.iter().enumerate() {
                let selected = A::selected(mask, lane);
                low = low.min(*cell | selected ^ A::ONES);
                (high, bits) = (high.max(*cell & selected), bits | *cell & selected);
            }
        }
        Self {
            low: low.into(),
            high: high.into(),
            bits: bits.into(),
        }
    }

    /// The pattern of a whole warp whose two halves are simple patterns.
    #[inline(always)]
    pub fn of_halves<A: AddressCell>(row: &[A; LANES]) -> Self {
        let (first, second) = (row[0], row[HALF]);
        Self {
            low: first.min(second).into(),
            high: row[HALF - 1].max(row[LANES - 1]).into(),
            bits: (first | second).into(),
        }
    }
}
