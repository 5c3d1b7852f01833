//! The kernels of one layer of a small transformer, attention with one causal head and a feed-forward network, and its
//! weights.

use cuda_host::{kernels, launch};
use cust::memory::{DeviceBuffer, DeviceSlice};
use cust::stream::Stream;
use examples_host::prelude::Seed;
use gpu_kernels::{MATMUL_THREADS, MATMUL_TILE};

kernels! { use gpu_kernels::{bias_gelu, bias_residual, matmul, matmul_transposed, softmax_rows}; }

/// Features of a token.
pub const D: usize = 64;
/// Features between the two matrices of the network.
pub const HIDDEN: usize = 4 * D;
/// What the products of queries and keys are multiplied by: 1 / sqrt(D).
const SCALE: f32 = 0.125;

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
        (0..rows * columns).map(|index| size * seed.f32(index)).collect()
    }
}

/// The kernels and the weights. What a kernel takes is a slice of device memory, whoever allocated it.
pub struct Layer {
    kernels: Kernels,
    weights: Vec<DeviceBuffer<f32>>,
}

type Slice = DeviceSlice<f32>;

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
    /// Loads the kernels and the weights.
    pub fn new() -> anyhow::Result<Self> {
        let upload = |weight: Weight| DeviceBuffer::from_slice(&weight.elements());
        let weights = Weight::ALL.map(upload).into_iter().collect::<Result<_, _>>()?;
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        Ok(Self { kernels, weights })
    }

    /// C = A W, for the rows of A.
    pub fn project(
        &self,
        a: &Slice,
        weight: Weight,
        c: &Slice,
        stream: &Stream,
    ) -> anyhow::Result<()> {
        let (k, n) = weight.shape();
        self.product(a, self.weight(weight), c, [a.len() / k, n, k], stream)
    }

    /// C = A B, where A is m by k and B is k by n.
    pub fn product(
        &self,
        a: &Slice,
        b: &Slice,
        c: &Slice,
        shape: [usize; 3],
        stream: &Stream,
    ) -> anyhow::Result<()> {
        let [m, n, k] = shape.map(|extent| extent as u32);
        let (grid, mut c) = (grid(m, n), *c);
        // SAFETY: the matrices have these shapes and are used in stream order.
        unsafe {
            launch!(self.kernels.matmul<<<grid, MATMUL_THREADS, 0, stream>>>(
                a, b, &mut c, m, n, k, k, n, n, 0, 0, 0, 1.0
            ))?;
        }
        Ok(())
    }

    /// The weights that each of the `s` queries gives to the keys before it: softmax(Q Kᵀ / sqrt(D)), row by row.
    pub fn scores(
        &self,
        q: &Slice,
        k: &Slice,
        scores: &Slice,
        s: usize,
        stream: &Stream,
    ) -> anyhow::Result<()> {
        let (s, d, mut scores) = (s as u32, D as u32, *scores);
        let (grid, blocks) = (grid(s, s), (32 * s).div_ceil(128));
        // SAFETY: as for `product`.
        unsafe {
            launch!(self.kernels.matmul_transposed<<<grid, MATMUL_THREADS, 0, stream>>>(
                q, k, &mut scores, s, s, d, d, d, s, 0, 0, 0, SCALE
            ))?;
            launch!(self.kernels.softmax_rows<<<blocks, 128, 0, stream>>>(&mut scores, s, s, s, 1))?;
        }
        Ok(())
    }

    /// x = gelu(x + bias).
    pub fn bias_gelu(&self, x: &Slice, bias: Weight, stream: &Stream) -> anyhow::Result<()> {
        let (mut x, n) = (*x, x.len() as u32);
        let bias = self.weight(bias);
        // SAFETY: the bias has an element for each column.
        unsafe {
            launch!(self.kernels.bias_gelu<<<n.div_ceil(256), 256, 0, stream>>>(&mut x, n, bias, HIDDEN as u32))?;
        }
        Ok(())
    }

    /// x = x + bias + residual.
    pub fn add(
        &self,
        x: &Slice,
        bias: Weight,
        residual: &Slice,
        stream: &Stream,
    ) -> anyhow::Result<()> {
        let (mut x, n) = (*x, x.len() as u32);
        let bias = self.weight(bias);
        // SAFETY: the bias has an element for each column, and the residual the shape of x.
        unsafe {
            launch!(self.kernels.bias_residual<<<n.div_ceil(256), 256, 0, stream>>>(
                &mut x, n, bias, D as u32, residual
            ))?;
        }
        Ok(())
    }

    fn weight(&self, weight: Weight) -> &Slice {
        &self.weights[weight as usize]
    }
}

/// The grid for a product of m by n elements.
fn grid(m: u32, n: u32) -> (u32, u32) {
    (n.div_ceil(MATMUL_TILE), m.div_ceil(MATMUL_TILE))
}
