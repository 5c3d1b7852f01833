//! The kernels of one layer of a small transformer, attention with one causal head and a feed-forward network, and its
//! weights.

use anyhow::Result;
use cuda_host::prelude::*;
use gpu_kernels::{MATMUL_THREADS, MATMUL_TILE};

kernels! { use gpu_kernels::{bias_gelu, bias_residual, matmul, matmul_transposed, softmax_rows}; }

pub const D: usize = 64; // features of a token
pub const HIDDEN: usize = 4 * D; // features between the two matrices of the network
const SCALE: f32 = 0.125; // what the products of queries and keys are multiplied by: 1 / sqrt(D)

/// The weights.
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
}

/// The kernels and the weights, by [`Weight`], and the stream in which they work. A kernel takes a slice of device memory, from any
/// allocation.
pub struct Layer {
    kernels: Kernels,
    pub weights: Vec<DeviceBuffer<f32>>,
    pub stream: Stream,
}

pub type Slice = DeviceSlice<f32>;

impl Layer {
    pub fn new(weights: &[Vec<f32>]) -> Result<Self> {
        let stream = stream::non_blocking()?.named("layer");
        let weights = weights.iter().map(|weight| DeviceBuffer::from_slice(weight));
        let weights = weights.collect::<Result<_, _>>()?;
        Ok(Self { kernels: Kernels::load(gpu_kernels::SM_70)?, weights, stream })
    }

    /// C = A W, for the rows of A.
    pub fn project(&self, a: &Slice, weight: Weight, c: &Slice) -> CudaResult<()> {
        let (k, n) = weight.shape();
        self.product(a, &self.weights[weight as usize], c, [a.len() / k, n, k])
    }

    /// C = A B, where A is m by k and B is k by n.
    pub fn product(&self, a: &Slice, b: &Slice, c: &Slice, shape: [usize; 3]) -> CudaResult<()> {
        let ([m, n, k], mut c, stream) = (shape.map(|extent| extent as u32), *c, &self.stream);
        // SAFETY: the matrices have these shapes and are used in stream order.
        unsafe {
            launch!(self.kernels.matmul<<<grid(m, n), MATMUL_THREADS, 0, stream>>>(a, b, &mut c, m, n, k, k, n, n, 0, 0, 0, 1.0))
        }
    }

    /// The weights that each of the `s` queries gives to the keys before it: softmax(Q Kᵀ / sqrt(D)), row by row.
    pub fn scores(&self, q: &Slice, k: &Slice, scores: &Slice, s: usize) -> CudaResult<()> {
        let (s, d, mut scores, stream) = (s as u32, D as u32, *scores, &self.stream);
        let (grid, blocks) = (grid(s, s), (32 * s).div_ceil(128));
        // SAFETY: as for `product`.
        unsafe {
            launch!(self.kernels.matmul_transposed<<<grid, MATMUL_THREADS, 0, stream>>>(q, k, &mut scores, s, s, d, d, d, s, 0, 0, 0, SCALE))?;
            launch!(self.kernels.softmax_rows<<<blocks, 128, 0, stream>>>(&mut scores, s, s, s, 1))
        }
    }

    /// x = gelu(x + bias).
    pub fn bias_gelu(&self, x: &Slice, bias: Weight) -> CudaResult<()> {
        let (mut x, n, stream) = (*x, x.len() as u32, &self.stream);
        let bias = &self.weights[bias as usize];
        // SAFETY: the bias has an element for each column.
        unsafe {
            launch!(self.kernels.bias_gelu<<<n.div_ceil(256), 256, 0, stream>>>(&mut x, n, bias, HIDDEN as u32))
        }
    }

    /// x = x + bias + residual.
    pub fn add(&self, x: &Slice, bias: Weight, residual: &Slice) -> CudaResult<()> {
        let (mut x, n, stream) = (*x, x.len() as u32, &self.stream);
        let bias = &self.weights[bias as usize];
        // SAFETY: the bias has an element for each column, and the residual the shape of x.
        unsafe {
            launch!(self.kernels.bias_residual<<<n.div_ceil(256), 256, 0, stream>>>(&mut x, n, bias, D as u32, residual))
        }
    }
}

/// The grid for a product of m by n elements.
fn grid(m: u32, n: u32) -> (u32, u32) {
    (n.div_ceil(MATMUL_TILE), m.div_ceil(MATMUL_TILE))
}
