//! Data that is cut into chunks.

use crate::options::UsageError;
use crate::split::pieces;
use std::ops::Range;

/// The ranges of `chunks` chunks of `elements` elements: of equal length up to an alignment of 128 bytes, in order.
///
/// # Errors
/// There are more chunks than elements, or none.
pub fn ranges<T>(elements: usize, chunks: usize) -> Result<Vec<Range<usize>>, UsageError> {
    let cut = pieces::<T>(elements, chunks).map(Iterator::collect);
    cut.ok_or_else(|| {
        UsageError(format!(
            "{elements} elements cannot be cut into {chunks} chunks"
        ))
    })
}
