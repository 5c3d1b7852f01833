//! Sums of columns, in a loop whose loads are scheduled by hand.

use cuda_std::prelude::*;

/// Rows that are loaded before the rows in front of them are added.
const AHEAD: usize = 8;

/// The sum of each column of `x`, one per thread, in the order of the rows: `rows`, a multiple of 8, of `columns` elements. The loads of eight
/// rows are issued before the eight rows that arrived earlier are added.
#[kernel]
pub unsafe fn column_sums(x: *const f32, y: *mut f32, rows: u32, columns: u32) {
    let column = thread::index_1d();
    if column >= columns {
        return;
    }
    let load = |first: u32| {
        let mut loaded = [0f32; AHEAD];
        for (i, loaded) in loaded.iter_mut().enumerate() {
            let at = (first + i as u32) * columns + column;
            // SAFETY: x has all these rows.
            *loaded = unsafe { *x.add(at as usize) };
        }
        loaded
    };
    let (mut sum, mut row) = (0.0, 0);
    let mut arrived = if rows > 0 { load(0) } else { [0.0; AHEAD] };
    while row < rows {
        let next = row + AHEAD as u32;
        let loaded = if next < rows { load(next) } else { [0.0; AHEAD] };
        for value in arrived {
            sum += value;
        }
        (arrived, row) = (loaded, next);
    }
    // SAFETY: y has an element for each column.
    unsafe { *y.add(column as usize) = sum };
}
