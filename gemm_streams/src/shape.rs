//! How large the products are, and where each of them lies.

use gpu_kernels::GEMM_MMA_TILE;
use std::ops::Range;

/// So many products `C = A B` of bf16, one behind the other: A has m rows and k columns, B k rows and n columns. A and C lie by
/// rows, B by columns.
#[derive(Clone, Copy, Debug)]
pub struct GemmShape {
    pub products: usize,
    pub m: u32,
    pub n: u32,
    pub k: u32,
}

impl GemmShape {
    /// Elements of one A, B and C.
    pub fn elements(&self) -> [usize; 3] {
        let [m, n, k] = [self.m, self.n, self.k].map(|len| len as usize);
        [m * k, n * k, m * n]
    }

    /// Where A, B and C of one product lie.
    pub fn places(&self, product: usize) -> [Range<usize>; 3] {
        self.elements().map(|len| product * len..(product + 1) * len)
    }

    /// Tiles of one product: blocks of its launch.
    pub fn tiles(&self) -> u32 {
        let [rows, columns] = GEMM_MMA_TILE;
        self.m.div_ceil(rows) * self.n.div_ceil(columns)
    }
}
