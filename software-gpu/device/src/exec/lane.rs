//! One lane's value as it lies in a register row.

/// A value of one lane. Rows have two widths: everything up to 32 bits lies in a `u32` cell, the rest in a `u64`.
///
/// Narrow values are kept extended to the cell (by their own signedness) and truncated when read, which is what PTX
/// demands of registers wider than the instruction's type.
pub(super) trait Lane: Copy + 'static {
    /// `u32` or `u64`.
    type Cell: Copy + Default + 'static;
    /// Reads the value from its cell.
    fn from_cell(cell: Self::Cell) -> Self;
    /// Extends the value to its cell.
    fn to_cell(self) -> Self::Cell;
}

macro_rules! integer_lanes {
    ($($lane:ty as $extended:ty => $cell:ty),* $(,)?) => {$(
        impl Lane for $lane {
            type Cell = $cell;

            #[inline(always)]
            fn from_cell(cell: $cell) -> Self {
                cell as $lane
            }

            #[inline(always)]
            fn to_cell(self) -> $cell {
                self as $extended as $cell
            }
        }
    )*};
}

integer_lanes! {
    u8 as u32 => u32,
    i8 as i32 => u32,
    u16 as u32 => u32,
    i16 as i32 => u32,
    u32 as u32 => u32,
    i32 as i32 => u32,
    u64 as u64 => u64,
    i64 as i64 => u64,
}

impl Lane for f32 {
    type Cell = u32;

    #[inline(always)]
    fn from_cell(cell: u32) -> Self {
        f32::from_bits(cell)
    }

    #[inline(always)]
    fn to_cell(self) -> u32 {
        self.to_bits()
    }
}

impl Lane for f64 {
    type Cell = u64;

    #[inline(always)]
    fn from_cell(cell: u64) -> Self {
        f64::from_bits(cell)
    }

    #[inline(always)]
    fn to_cell(self) -> u64 {
        self.to_bits()
    }
}
