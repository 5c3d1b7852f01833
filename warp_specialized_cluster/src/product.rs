//! The matrix product that all parts compute, and the three ways in which a tile of B comes to the blocks of a cluster.

use anyhow::{Context, Result};
use cuda_host::kernels;
use cuda_host::launch_attributes::{Attribute, max_active_clusters};
use cust::memory::{DeviceBuffer, DeviceSlice};
use cust::stream::Stream;
use examples_host::periodic::Products;
use examples_host::prelude::*;
use gpu_kernels::{PRODUCT_COLUMNS, PRODUCT_ROWS, PRODUCT_SHARED_BYTES, PRODUCT_THREADS};

kernels! { use gpu_kernels::{product_dsmem, product_global, product_multicast}; }

/// Blocks of the largest cluster that every device with clusters has.
pub const LARGEST: u32 = 8;

/// How a tile of B comes to the blocks of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Every block fetches it from global memory.
    Global,
    /// Every block fetches a share and passes it on through distributed shared memory.
    Dsmem,
    /// Every block fetches a share, and the copy writes it into the shared memory of all.
    Multicast,
}

/// Panels of rows and of columns, which make the grid, and terms of each sum.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub row_panels: u32,
    pub column_panels: u32,
    pub terms: usize,
    /// Dynamic shared memory of a block: more than half of a multiprocessor's, so that each block has a multiprocessor to itself,
    /// wherever its cluster is placed.
    pub shared_bytes: u32,
}

impl Shape {
    /// A panel of rows for each block that is resident at the same time in clusters of [`LARGEST`]: all clusters have equal waves. On a
    /// GPU B has 16 MiB, which its L2 cache holds; on a model it has so many panels of columns and terms, as many as are soon
    /// interpreted.
    pub fn of(part: &Part, modelled: (u32, usize)) -> Result<Self> {
        let (column_panels, terms) = part.by_times((4, 2048), modelled);
        let alone = part.device().shared_bytes_of_a_lone_block()?;
        let shared_bytes = PRODUCT_SHARED_BYTES.max(alone);
        let (kernels, clusters) =
            (Kernels::load(gpu_kernels::SM_90)?, Attribute::cluster([LARGEST, 1, 1]));
        kernels.allow(shared_bytes)?;
        let function = kernels.product_multicast.function();
        let resident =
            max_active_clusters(function, LARGEST, PRODUCT_THREADS, shared_bytes, &[clusters])?;
        Ok(Self { row_panels: LARGEST * resident, column_panels, terms, shared_bytes })
    }

    pub fn rows(&self) -> usize {
        (self.row_panels * PRODUCT_ROWS) as usize
    }

    pub fn columns(&self) -> usize {
        (self.column_panels * PRODUCT_COLUMNS) as usize
    }

    pub fn blocks(&self) -> usize {
        (self.row_panels * self.column_panels) as usize
    }

    /// Bytes of A and of C.
    pub fn bytes(&self) -> [usize; 2] {
        [self.terms, self.columns()].map(|columns| self.rows() * columns * size_of::<f32>())
    }

    /// Bytes that the blocks fetch of A, each its own panel, and of B, each the panel of its columns, if none is shared.
    pub fn needed(&self) -> [u64; 2] {
        let panel = |edge: u32| edge as usize * self.terms * size_of::<f32>() * self.blocks();
        [PRODUCT_ROWS, PRODUCT_COLUMNS].map(|edge| panel(edge) as u64)
    }

    /// Threads of the launch.
    pub fn threads(&self) -> usize {
        self.blocks() * PRODUCT_THREADS as usize
    }
}

impl Kernels {
    /// Allows blocks so much dynamic shared memory (`cuFuncSetAttribute`): more than 48 KiB are not given without asking.
    fn allow(&self, shared_bytes: u32) -> cust::error::CudaResult<()> {
        self.product_dsmem.allow_dynamic_shared_bytes(shared_bytes)?;
        self.product_global.allow_dynamic_shared_bytes(shared_bytes)?;
        self.product_multicast.allow_dynamic_shared_bytes(shared_bytes)
    }
}

/// B on the device, and the kernels that multiply with it.
pub struct Product {
    pub shape: Shape,
    kernels: Kernels,
    b: DeviceBuffer<f32>,
}

impl Product {
    pub fn new(shape: Shape, matrices: &Products) -> Result<Self> {
        let (columns, panel) = (shape.columns(), PRODUCT_COLUMNS as usize);
        let right = matrices.right(columns);
        // By panel, then by term.
        let panels = (0..columns).step_by(panel).flat_map(|first| {
            right.chunks(columns).flat_map(move |row| row[first..first + panel].to_vec())
        });
        let b: Vec<f32> = panels.collect();
        let kernels = Kernels::load(gpu_kernels::SM_90)?;
        kernels.allow(shape.shared_bytes)?;
        Ok(Self { shape, kernels, b: DeviceBuffer::from_slice(&b)? })
    }

    /// The matrix A in panels, as the kernels read it.
    pub fn left(&self, matrices: &Products) -> Vec<f32> {
        let (terms, panel) = (self.shape.terms, PRODUCT_ROWS as usize);
        let left = matrices.left(self.shape.rows());
        let of_panel = |rows: &[f32]| -> Vec<f32> {
            let of_term = |term| (0..panel).map(move |row| rows[row * terms + term]);
            (0..terms).flat_map(of_term).collect()
        };
        left.chunks(panel * terms).flat_map(of_panel).collect()
    }

    /// The product of `a` and B by clusters of so many blocks (`cuLaunchKernelEx`). Each block notes how many bytes it has fetched from
    /// global memory.
    ///
    /// # Safety
    /// The matrices have this shape's elements and `fetched` one for each block, and nothing else uses `c` and `fetched` meanwhile.
    pub unsafe fn launch(
        &self,
        (way, cluster): (Way, u32),
        (a, c): (&DeviceSlice<f32>, &mut DeviceSlice<f32>),
        fetched: &mut DeviceSlice<u32>,
        stream: &Stream,
    ) -> cust::error::CudaResult<()> {
        let Shape { row_panels, column_panels, terms, shared_bytes } = self.shape;
        let clusters = [Attribute::cluster([cluster, 1, 1])];
        let (grid, block) = ((row_panels, column_panels), PRODUCT_THREADS);
        let Kernels { product_global, product_dsmem, product_multicast } = &self.kernels;
        let all = (a, &self.b, c, fetched, terms as u32);
        // SAFETY: the caller's promise; the grid has a block for each panel of the product.
        unsafe {
            match way {
                Way::Global => {
                    product_global.launch_with(&clusters, grid, block, shared_bytes, stream, all)
                }
                Way::Dsmem => {
                    product_dsmem.launch_with(&clusters, grid, block, shared_bytes, stream, all)
                }
                Way::Multicast => {
                    product_multicast.launch_with(&clusters, grid, block, shared_bytes, stream, all)
                }
            }
        }
    }
}

/// One product and its operands on the device.
pub struct Work {
    pub product: Product,
    a: DeviceBuffer<f32>,
    c: DeviceBuffer<f32>,
    fetched: DeviceBuffer<u32>,
    expected: Products,
    /// Bytes that the blocks have fetched from global memory, for each product that was checked.
    checked: Vec<u64>,
}

impl Work {
    pub fn new(shape: Shape) -> Result<Self> {
        let expected = Products::new(71, 72, shape.terms);
        let product = Product::new(shape, &expected)?;
        Ok(Self {
            a: DeviceBuffer::from_slice(&product.left(&expected))?,
            c: DeviceBuffer::zeroed(shape.rows() * shape.columns())?,
            fetched: DeviceBuffer::zeroed(shape.blocks())?,
            product,
            expected,
            checked: Vec::new(),
        })
    }

    /// The whole product, this way.
    pub fn multiply(&mut self, way: (Way, u32), stream: &Stream) -> cust::error::CudaResult<()> {
        let operands = (&*self.a, &mut *self.c);
        // SAFETY: the buffers have the shape's elements and outlive the run.
        unsafe { self.product.launch(way, operands, &mut self.fetched, stream) }
    }

    /// Bytes that the blocks have fetched from global memory in the last run of each of `N` variants.
    pub fn fetched<const N: usize>(&self) -> Result<[u64; N]> {
        let last = self.checked.last_chunk().context("fewer products were checked")?;
        Ok(*last)
    }
}

impl Workload for Work {
    fn poison(&mut self) -> Result<()> {
        self.c.set_8(0xFF)?;
        Ok(self.fetched.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        let (columns, found) = (self.product.shape.columns(), self.c.as_host_vec()?);
        let fetched = self.fetched.as_host_vec()?;
        self.checked.push(fetched.into_iter().map(u64::from).sum());
        let expected = |index| self.expected.at(index / columns, index % columns);
        Ok(check::equal("the product", 0, &found, expected)?)
    }
}
