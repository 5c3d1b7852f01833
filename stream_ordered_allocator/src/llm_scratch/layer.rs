//! One layer of a small transformer on the device: attention with one causal head, and a feed-forward network.

use super::scratch::{Calls, Scratch};
use examples_host::prelude::*;
use gpu_kernels::SM_70;

/// Features of a token.
pub const D: usize = 64;
/// Features between the two matrices of the network.
pub const HIDDEN: usize = 4 * D;
/// What the products of queries and keys are multiplied by: 1 / sqrt(D).
pub const SCALE: f32 = 0.125;

kernels! {
    unsafe struct Kernels {
        #[allow(clippy::too_many_arguments, reason = "a kernel's parameters are plain numbers")]
        fn matmul(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32, ld_a: u32, ld_b: u32, ld_c: u32,
            batch_a: u32, batch_b: u32, batch_c: u32, alpha: f32) = gpu_kernels::matmul;
        #[allow(clippy::too_many_arguments, reason = "a kernel's parameters are plain numbers")]
        fn matmul_transposed(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32, ld_a: u32, ld_b: u32,
            ld_c: u32, batch_a: u32, batch_b: u32, batch_c: u32, alpha: f32) = gpu_kernels::matmul_transposed;
        fn softmax_rows(data: *mut f32, rows: u32, columns: u32, pitch: u32, causal: u32) = gpu_kernels::softmax_rows;
        fn bias_gelu(data: *mut f32, n: u32, bias: *const f32, columns: u32) = gpu_kernels::bias_gelu;
        fn bias_residual(data: *mut f32, n: u32, bias: *const f32, columns: u32, residual: *const f32)
            = gpu_kernels::bias_residual;
    }
}

/// The weights, each with its rows, its columns, the number of its data and the size of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    Query,
    Key,
    Value,
    Output,
    BiasOutput,
    Up,
    BiasUp,
    Down,
    BiasDown,
}

impl Weight {
    pub const ALL: [Self; 9] = [
        Self::Query,
        Self::Key,
        Self::Value,
        Self::Output,
        Self::BiasOutput,
        Self::Up,
        Self::BiasUp,
        Self::Down,
        Self::BiasDown,
    ];

    /// Rows and columns.
    pub fn shape(self) -> (usize, usize) {
        match self {
            Self::Query | Self::Key | Self::Value | Self::Output => (D, D),
            Self::BiasOutput | Self::BiasDown => (1, D),
            Self::Up => (D, HIDDEN),
            Self::BiasUp => (1, HIDDEN),
            Self::Down => (HIDDEN, D),
        }
    }

    /// The elements: large enough for softmax to prefer some tokens, and for GELU to bend.
    pub fn elements(self) -> Vec<f32> {
        let size = match self {
            Self::Query | Self::Key => 0.5,
            Self::Down => 0.125,
            _ => 0.25,
        };
        let (rows, columns) = self.shape();
        let seed = Seed::new(500 + self as u64);
        (0..rows * columns)
            .map(|index| size * seed.f32(index))
            .collect()
    }
}

/// The kernels and the weights.
pub struct Layer {
    kernels: Kernels,
    weights: Vec<DeviceBuffer<f32>>,
}

/// Lengths of the scratch memory that a batch of `s` tokens takes, in the order in which it does.
pub fn scratch_lengths(s: usize) -> [usize; 7] {
    [s * D, s * D, s * D, s * D, s * s, s * D, s * HIDDEN]
}

/// Launches for a batch.
pub const LAUNCHES: usize = 12;

/// Elements that the launches for a batch of `s` tokens work on: the longest matrix of each.
pub fn launch_elements(s: usize) -> usize {
    let projection = (s * D).max(D * D);
    let network = (s * HIDDEN).max(D * HIDDEN);
    let attention = (s * s).max(s * D);
    4 * projection + 2 * attention + s * s + 2 * s * D + 2 * network + s * HIDDEN
}

impl Layer {
    /// Loads the kernels, and the weights into memory of `stream`.
    pub fn new(stream: &Stream) -> Result<Self> {
        let device = stream.device();
        let mut weights = Vec::new();
        for weight in Weight::ALL {
            let elements = weight.elements();
            let mut values = HostBuffer::page_locked(device, elements.len())?;
            values.write()?.copy_from_slice(&elements);
            let mut memory = DeviceBuffer::new(stream, elements.len())?;
            memory.copy_from(&values)?;
            weights.push(memory);
        }
        stream.synchronize()?;
        let kernels = Kernels::load(device, SM_70)?;
        Ok(Self { kernels, weights })
    }

    /// The layer's output for the tokens `x`, into `out`. All scratch memory has been given back at the end.
    pub fn forward(
        &self,
        x: &DeviceBuffer<f32>,
        out: &mut DeviceBuffer<f32>,
        scratch: &mut Scratch,
        calls: &mut Calls,
    ) -> Result<()> {
        let s = x.len() / D;
        let stream = x.stream();
        let after = self.attention(x, s, scratch, calls)?;
        let mut hidden = scratch.take(stream, s * HIDDEN, calls)?;
        self.product(&after, Weight::Up, &mut hidden)?;
        self.bias_gelu(&mut hidden)?;
        self.product(&hidden, Weight::Down, out)?;
        self.add(out, Weight::BiasDown, &after)?;
        calls.timed(|| drop((hidden, after)));
        scratch.end_batch()
    }

    /// Attention: softmax(q kᵀ / sqrt(D)) v, projected and added to `x`.
    fn attention(
        &self,
        x: &DeviceBuffer<f32>,
        s: usize,
        scratch: &mut Scratch,
        calls: &mut Calls,
    ) -> Result<DeviceBuffer<f32>> {
        let stream = x.stream();
        let mut after = scratch.take(stream, s * D, calls)?;
        let mut of_x = |weight| -> Result<_> {
            let mut product = scratch.take(stream, s * D, calls)?;
            self.product(x, weight, &mut product)?;
            Ok(product)
        };
        let (q, k, v) = (
            of_x(Weight::Query)?,
            of_x(Weight::Key)?,
            of_x(Weight::Value)?,
        );
        let mut scores = scratch.take(stream, s * s, calls)?;
        let (n, d) = (s as u32, D as u32);
        let grid = grid(s, s);
        self.kernels.matmul_transposed(
            grid,
            &q,
            &k,
            &mut scores,
            n,
            n,
            d,
            d,
            d,
            n,
            0,
            0,
            0,
            SCALE,
        )?;
        self.kernels
            .softmax_rows(Grid::cover(32 * s, 128), &mut scores, n, n, n, 1)?;
        let mut attended = scratch.take(stream, s * D, calls)?;
        self.multiply(&scores, &v, &mut attended, [s, D, s])?;
        self.product(&attended, Weight::Output, &mut after)?;
        self.add(&mut after, Weight::BiasOutput, x)?;
        calls.timed(|| drop((q, k, v, scores, attended)));
        Ok(after)
    }

    /// C = A W, for the rows of A.
    fn product(
        &self,
        a: &DeviceBuffer<f32>,
        weight: Weight,
        c: &mut DeviceBuffer<f32>,
    ) -> Result<()> {
        let (k, n) = weight.shape();
        self.multiply(a, &self.weights[weight as usize], c, [a.len() / k, n, k])
    }

    /// C = A B, where A is m by k and B is k by n.
    fn multiply(
        &self,
        a: &DeviceBuffer<f32>,
        b: &DeviceBuffer<f32>,
        c: &mut DeviceBuffer<f32>,
        [m, n, k]: [usize; 3],
    ) -> Result<()> {
        let grid = grid(m, n);
        let [m, n, k] = [m, n, k].map(|extent| extent as u32);
        self.kernels
            .matmul(grid, a, b, c, m, n, k, k, n, n, 0, 0, 0, 1.0)
    }

    fn bias_gelu(&self, data: &mut DeviceBuffer<f32>) -> Result<()> {
        let (n, bias) = (data.len(), &self.weights[Weight::BiasUp as usize]);
        self.kernels
            .bias_gelu(Grid::cover(n, 256), data, n as u32, bias, HIDDEN as u32)
    }

    fn add(
        &self,
        data: &mut DeviceBuffer<f32>,
        bias: Weight,
        residual: &DeviceBuffer<f32>,
    ) -> Result<()> {
        let (n, bias) = (data.len(), &self.weights[bias as usize]);
        self.kernels.bias_residual(
            Grid::cover(n, 256),
            data,
            n as u32,
            bias,
            D as u32,
            residual,
        )
    }
}

/// The grid for a product of m by n elements.
fn grid(m: usize, n: usize) -> Grid {
    let tiles = |extent: usize| (extent as u32).div_ceil(gpu_kernels::MATMUL_TILE);
    let mut grid = Grid::new(tiles(n), gpu_kernels::MATMUL_THREADS);
    grid.blocks[1] = tiles(m);
    grid
}
