//! The matrix product that all parts compute, and the three ways in which a tile of B comes to the blocks of a cluster.

use anyhow::Result;
use cuda_host::kernels;
use cuda_host::launch_attributes::Attribute;
use cust::memory::{DeviceBuffer, DeviceSlice};
use cust::stream::Stream;
use examples_host::periodic::Products;
use examples_host::prelude::*;
use gpu_kernels::{PRODUCT_COLUMNS, PRODUCT_ROWS, PRODUCT_THREADS};

kernels! { use gpu_kernels::{product_dsmem, product_global, product_multicast}; }

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
}

impl Shape {
    /// A panel of rows for each multiprocessor, of a number that clusters of 8 blocks divide. On a GPU B has 16 MiB, which its L2
    /// cache holds; on a model it has so many panels of columns and terms, as many as are soon interpreted.
    pub fn of(part: &Part, modelled: (u32, usize)) -> Result<Self> {
        let (column_panels, terms) = part.by_times((4, 2048), modelled);
        let row_panels = part.device().multiprocessors()? / 8 * 8;
        Ok(Self { row_panels, column_panels, terms })
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
        Ok(Self {
            shape,
            kernels: Kernels::load(gpu_kernels::SM_90)?,
            b: DeviceBuffer::from_slice(&b)?,
        })
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
        let Shape { row_panels, column_panels, terms } = self.shape;
        let clusters = [Attribute::cluster([cluster, 1, 1])];
        let (grid, block) = ((row_panels, column_panels), PRODUCT_THREADS);
        let Kernels { product_global, product_dsmem, product_multicast } = &self.kernels;
        let all = (a, &self.b, c, fetched, terms as u32);
        // SAFETY: the caller's promise; the grid has a block for each panel of the product.
        unsafe {
            match way {
                Way::Global => product_global.launch_with(&clusters, grid, block, 0, stream, all),
                Way::Dsmem => product_dsmem.launch_with(&clusters, grid, block, 0, stream, all),
                Way::Multicast => {
                    product_multicast.launch_with(&clusters, grid, block, 0, stream, all)
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
        })
    }

    /// The whole product, this way.
    pub fn multiply(&mut self, way: (Way, u32), stream: &Stream) -> cust::error::CudaResult<()> {
        let operands = (&*self.a, &mut *self.c);
        // SAFETY: the buffers have the shape's elements and outlive the run.
        unsafe { self.product.launch(way, operands, &mut self.fetched, stream) }
    }

    /// Bytes that the blocks of the last run have fetched from global memory.
    pub fn fetched(&self) -> Result<u64> {
        Ok(self.fetched.as_host_vec()?.into_iter().map(u64::from).sum())
    }
}

impl Workload for Work {
    fn poison(&mut self) -> Result<()> {
        self.c.set_8(0xFF)?;
        Ok(self.fetched.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        let (columns, found) = (self.product.shape.columns(), self.c.as_host_vec()?);
        let expected = |index| self.expected.at(index / columns, index % columns);
        Ok(check::equal("the product", 0, &found, expected)?)
    }
}
