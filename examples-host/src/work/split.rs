//! How a buffer is cut into chunks.

use std::ops::Range;

/// Pieces start at multiples of this many bytes where there are enough elements: what one warp
/// loads at once, and more than any vector load needs.
const ALIGNMENT: usize = 128;

/// The ranges of `count` pieces of `len` elements: in order, none empty, without gap or overlap, of
/// lengths that differ by at most one alignment unit. `None` when there are no pieces or more
/// pieces than elements.
pub fn pieces<T>(
    len: usize,
    count: usize,
) -> Option<impl ExactSizeIterator<Item = Range<usize>> + Clone> {
    if count == 0 || count > len {
        return None;
    }
    let aligned = (ALIGNMENT / size_of::<T>().max(1)).max(1);
    let unit = if len.div_ceil(aligned) >= count {
        aligned
    } else {
        1
    };
    let units = len.div_ceil(unit);
    // The first `units % count` pieces get one unit more; the last piece ends where the elements
    // do.
    let start = move |piece: usize| (units / count * piece + piece.min(units % count)) * unit;
    Some((0..count).map(move |piece| start(piece)..start(piece + 1).min(len)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_pieces_and_too_many_are_refused() {
        assert!(pieces::<f32>(10, 0).is_none());
        assert!(pieces::<f32>(10, 11).is_none());
        assert!(pieces::<f32>(0, 1).is_none());
    }

    #[test]
    fn pieces_start_where_vector_loads_may() {
        let starts: Vec<_> = pieces::<f32>(1000, 3)
            .unwrap()
            .map(|piece| piece.start)
            .collect();
        assert_eq!(starts, [0, 352, 704]);
    }

    proptest! {
        #[test]
        fn pieces_cover_everything_once(len in 1usize..1 << 20, count in 1usize..300) {
            prop_assume!(count <= len);
            let pieces: Vec<_> = pieces::<f32>(len, count).unwrap().collect();
            prop_assert_eq!(pieces.len(), count);
            prop_assert_eq!(pieces[0].start, 0);
            prop_assert_eq!(pieces[count - 1].end, len);
            prop_assert!(pieces.windows(2).all(|pair| pair[0].end == pair[1].start));
            prop_assert!(pieces.iter().all(|piece| !piece.is_empty()));
            let longest = pieces.iter().map(ExactSizeIterator::len).max().unwrap();
            let shortest = pieces[..count - 1].iter().map(ExactSizeIterator::len).min().unwrap_or(longest);
            prop_assert!(longest - shortest <= ALIGNMENT / size_of::<f32>());
        }
    }
}
