//! loops: does a compiler schedule a loop's loads as well as a programmer?
//!
//! A thread adds the elements of a column, one row after the other. An addition must wait for its load, and for the addition before;
//! a load waits for nothing. So loads of several rows can be pending while earlier rows are added:
//!
//! ```text
//! rolled     |L....a L....a L....a|     L: issues a load   a: adds what it loaded   .: waits
//! unrolled   |LLLL....aaaa LLLL...|     nvcc: eight rows at a time, whose loads ptxas moves in front
//! by hand    |LLLL....LLLLaaaaLLLL|     Rust: the next eight loads before the last eight are added
//! ```
//!
//! The first two are PTX that nvcc 13.0.88 made of `cuda/column_sums.cu`; they differ in `#pragma unroll`. The third is a Rust
//! kernel whose loop is software-pipelined in its source. A second compiler, ptxas, schedules the machine instructions of all
//! three. In the PTX of the unrolled loop each load stands before its addition, and ptxas moves the loads in front of them; the
//! software GPU, which executes PTX in its order, does not. Equal times of the rolled and the unrolled loop on a GPU, or sums
//! with other bits, would prove this wrong.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::{module::Module, stream::Stream};

kernels! { use gpu_kernels::column_sums; }

/// What nvcc made, which needs a driver of CUDA 13.0.
const NVCC: &str = include_str!("../cuda/column_sums.ptx");
/// A multiple of the eight rows that a loop takes at a time.
pub const ROWS: usize = 512;
const THREADS: u32 = 64;

/// A matrix by rows, and room for the sum of each of its columns.
pub struct Matrix {
    by_hand: Kernels,
    nvcc: Module,
    pub x: DeviceBuffer<f32>,
    pub sums: DeviceBuffer<f32>,
}

impl Matrix {
    pub fn new(x: &[f32]) -> Result<Self> {
        let by_hand = Kernels::load(gpu_kernels::SM_70)?; // cuModuleLoadDataEx
        let nvcc = Module::from_ptx(NVCC, &[])?; // the same
        let x = DeviceBuffer::from_slice(x)?;
        let sums = DeviceBuffer::zeroed(x.len() / ROWS)?;
        Ok(Self { by_hand, nvcc, x, sums })
    }

    /// A loop that nvcc scheduled: `column_sums_rolled` or `column_sums_unrolled`.
    pub fn compiled(&mut self, name: &str, stream: &Stream) -> CudaResult<()> {
        let kernel = self.nvcc.get_function(name)?; // cuModuleGetFunction
        let (x, sums, columns) =
            (self.x.as_device_ptr(), self.sums.as_device_ptr(), self.sums.len() as u32);
        // SAFETY: both buffers outlive the run; the parameters are those of the kernel in C++.
        unsafe {
            cust::launch!(kernel<<<columns.div_ceil(THREADS), THREADS, 0, stream>>>(x, sums, ROWS as u32, columns))
        }
    }

    /// The loop that is scheduled in its Rust source.
    pub fn by_hand(&mut self, stream: &Stream) -> CudaResult<()> {
        let columns = self.sums.len() as u32;
        // SAFETY: both buffers outlive the run, and the matrix has all these rows.
        unsafe {
            launch!(self.by_hand.column_sums<<<columns.div_ceil(THREADS), THREADS, 0, stream>>>(&self.x, &mut self.sums, ROWS as u32, columns))
        }
    }
}
