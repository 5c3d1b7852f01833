//! How large the product `C = A B` is.

use gpu_kernels::{PRODUCT_COLUMNS, PRODUCT_ROWS};

/// C has a panel for each block. A lies in panels of rows, B in panels of columns, both by term.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Panels of rows and of columns.
    pub grid: (u32, u32),
    /// Terms of each sum.
    pub terms: u32,
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
}

impl Shape {
    pub fn rows(&self) -> usize {
        (self.grid.0 * PRODUCT_ROWS) as usize
    }

    pub fn columns(&self) -> usize {
        (self.grid.1 * PRODUCT_COLUMNS) as usize
    }

    pub fn blocks(&self) -> usize {
        (self.grid.0 * self.grid.1) as usize
    }
}
