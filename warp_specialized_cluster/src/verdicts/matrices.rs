//! How large the product is on this device, what its operands are, and what it must be.

use crate::shape::Shape;
use anyhow::{Context, Result};
use cuda_host::launch_attributes::{Attribute, max_active_clusters};
use cuda_host::prelude::*;
use examples_host::periodic::PeriodicProducts;
use examples_host::prelude::*;
use gpu_kernels::{PRODUCT_COLUMNS, PRODUCT_ROWS, PRODUCT_SHARED_BYTES, PRODUCT_THREADS};

kernels! { use gpu_kernels::product_multicast; }

/// Blocks of the largest cluster that every device with clusters has.
const LARGEST: u32 = 8;

/// A panel of rows for each block that is resident at the same time in clusters of [`LARGEST`]: all clusters have equal waves. On a
/// GPU B has 16 MiB, which its L2 cache holds; on a model it has so many panels of columns and terms, as many as are soon
/// interpreted. A block takes more than half of a multiprocessor's shared memory, so that each has a multiprocessor to itself,
/// wherever its cluster is placed.
pub fn shape(part: &Part, modelled: (u32, u32)) -> Result<Shape> {
    let (column_panels, terms) = part.by_times((4, 2048), modelled);
    let alone = part.device().shared_bytes_of_a_lone_block()?;
    let shared_bytes = PRODUCT_SHARED_BYTES.max(alone);
    let Kernels { product_multicast } = Kernels::load(gpu_kernels::SM_90)?;
    product_multicast.allow_dynamic_shared_bytes(shared_bytes)?;
    let (function, clusters) =
        (product_multicast.function(), [Attribute::cluster([LARGEST, 1, 1])]);
    let resident =
        max_active_clusters(function, LARGEST, PRODUCT_THREADS, shared_bytes, &clusters)?;
    Ok(Shape { grid: (LARGEST * resident, column_panels), terms, shared_bytes })
}

/// Threads of the launch.
pub fn threads(shape: &Shape) -> usize {
    shape.blocks() * PRODUCT_THREADS as usize
}

/// Bytes that the blocks fetch of A, each its own panel, and of B, each the panel of its columns, if none is shared.
pub fn needed(shape: &Shape) -> [u64; 2] {
    let panel = |edge: u32| (edge * shape.terms) as usize * size_of::<f32>() * shape.blocks();
    [PRODUCT_ROWS, PRODUCT_COLUMNS].map(|edge| panel(edge) as u64)
}

/// A in panels of rows, each by term.
pub fn left(shape: &Shape, matrices: &PeriodicProducts) -> Vec<f32> {
    let (terms, panel) = (shape.terms as usize, PRODUCT_ROWS as usize);
    let left = matrices.left(shape.rows());
    let of_panel = |rows: &[f32]| -> Vec<f32> {
        let of_term = |term| (0..panel).map(move |row| rows[row * terms + term]);
        (0..terms).flat_map(of_term).collect()
    };
    left.chunks(panel * terms).flat_map(of_panel).collect()
}

/// B in panels of columns, each by term.
pub fn right(shape: &Shape, matrices: &PeriodicProducts) -> Vec<f32> {
    let (columns, panel) = (shape.columns(), PRODUCT_COLUMNS as usize);
    let right = matrices.right(columns);
    let panels = (0..columns).step_by(panel).flat_map(|first| {
        right.chunks(columns).flat_map(move |row| row[first..first + panel].to_vec())
    });
    panels.collect()
}

/// What the product must be, and how many bytes each checked one has fetched.
pub struct Answers {
    expected: PeriodicProducts,
    columns: usize,
    checked: Vec<u64>,
}

impl Answers {
    pub fn new(shape: &Shape, expected: PeriodicProducts) -> Self {
        Self { expected, columns: shape.columns(), checked: Vec::new() }
    }

    /// Compares all elements, and notes how many bytes all blocks have fetched.
    pub fn check(&mut self, found: &[f32], fetched: &[u32]) -> Result<Checked> {
        self.checked.push(fetched.iter().copied().map(u64::from).sum());
        let expected = |index| self.expected.at(index / self.columns, index % self.columns);
        Ok(check::equal("the product", 0, found, expected)?)
    }

    /// Bytes that the blocks have fetched from global memory in the last run of each of `N` variants.
    pub fn fetched<const N: usize>(&self) -> Result<[u64; N]> {
        let last = self.checked.last_chunk().context("fewer products were checked")?;
        Ok(*last)
    }
}
