//! Several matrix products of one shape, their operands on the host and on the device, and what they must be.

use anyhow::Result;
use cuda_host::{kernels, launch};
use cust::device::DeviceAttribute;
use cust::memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::periodic;
use examples_host::prelude::*;
use gpu_kernels::{GEMM_MMA_SHARED_BYTES, GEMM_MMA_THREADS, GEMM_MMA_TILE};
use half::bf16;
use std::ops::Range;

kernels! { use gpu_kernels::gemm_mma_sync; }

/// How many products, and each one's rows, columns and terms.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub products: usize,
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

impl Shape {
    /// 16 products of 1024 x 1024 x 1024 on a GPU; on a model, whose tensor cores a CPU imitates, 8 of this shape.
    pub fn of(part: &Part, modelled: [usize; 3]) -> Self {
        let (products, [m, n, k]) = part.by_times((16, [1024; 3]), (8, modelled));
        Self { products, m, n, k }
    }

    /// Bytes of all A and B, and of all C.
    pub fn bytes(&self) -> [usize; 2] {
        let Self { products, m, n, k } = *self;
        [(m + n) * k, m * n].map(|elements| products * elements * size_of::<u16>())
    }

    /// Tiles of a product: blocks of its launch.
    pub fn tiles(&self) -> usize {
        let [rows, columns] = GEMM_MMA_TILE.map(|edge| edge as usize);
        self.m.div_ceil(rows) * self.n.div_ceil(columns)
    }

    /// Multiplications and additions of all products.
    pub fn operations(&self) -> f64 {
        2.0 * [self.products, self.m, self.n, self.k].map(|len| len as f64).iter().product::<f64>()
    }
}

/// What the data sheet promises of bf16, in operations a second, where it is one number for the compute capability.
pub fn peak(device: &Device) -> Result<Option<f64>> {
    // Multiply-adds of a multiprocessor in a cycle.
    let in_a_cycle = match device.compute_capability()? {
        (8, 0) => 1024.0,
        (9, 0) => 2048.0,
        _ => return Ok(None),
    };
    let hertz = f64::from(device.attribute(DeviceAttribute::ClockRate)?) * 1e3;
    Ok(Some(2.0 * in_a_cycle * f64::from(device.multiprocessors()?) * hertz))
}

/// A table of times and rates, with what share of the peak they are.
pub fn rates(outcomes: &[Outcome], shape: &Shape, peak: Option<f64>) -> Table {
    let mut table = Table::new(["variant", "time", "speed-up", "rate", "of the peak"]);
    for outcome in outcomes {
        let time = outcome.median();
        let rate = shape.operations() / time.as_secs_f64();
        table.row([
            outcome.name.to_string(),
            units::time(time),
            units::ratio(outcomes[0].median().div_duration_f64(time)),
            format!("{:.1} TFLOP/s", rate / 1e12),
            peak.map_or("-".to_owned(), |peak| units::percent(rate / peak)),
        ]);
    }
    table
}

/// Operands and results, one product behind the other: page-locked, and on the device.
pub struct Products {
    pub shape: Shape,
    kernels: Kernels,
    host: [LockedBuffer<u16>; 3],
    device: [DeviceBuffer<u16>; 3],
    expected: Vec<periodic::Products>,
}

impl Products {
    pub fn new(shape: Shape) -> Result<Self> {
        let Shape { products, m, n, k } = shape;
        let of_product = |i| periodic::Products::new(100 + i as u64, 200 + i as u64, k);
        let expected: Vec<_> = (0..products).map(of_product).collect();
        let a: Vec<u16> = expected.iter().flat_map(|matrices| bits(matrices.left(m))).collect();
        let b = expected.iter().flat_map(|matrices| bits(matrices.right_by_columns(n)));
        let (b, c): (Vec<u16>, _) = (b.collect(), vec![0; products * m * n]);
        let kernels = Kernels::load(gpu_kernels::SM_80)?;
        kernels.gemm_mma_sync.allow_dynamic_shared_bytes(GEMM_MMA_SHARED_BYTES)?;
        Ok(Self {
            shape,
            kernels,
            device: [
                DeviceBuffer::from_slice(&a)?,
                DeviceBuffer::from_slice(&b)?,
                DeviceBuffer::from_slice(&c)?,
            ],
            host: [
                LockedBuffer::from_slice(&a)?,
                LockedBuffer::from_slice(&b)?,
                LockedBuffer::from_slice(&c)?,
            ],
            expected,
        })
    }

    /// A, B and C on the device.
    pub fn on_device(&mut self) -> &mut [DeviceBuffer<u16>; 3] {
        &mut self.device
    }

    /// A and B of these products come to the device.
    pub fn copy_in(&mut self, products: Range<usize>, stream: &Stream) -> Result<()> {
        let Shape { m, n, k, .. } = self.shape;
        for (operand, len) in [(0, m * k), (1, n * k)] {
            let range = products.start * len..products.end * len;
            // SAFETY: the operands are page-locked and outlive the pass.
            unsafe {
                let mut to = self.device[operand].index(range.clone());
                to.async_copy_from(&self.host[operand][range], stream)?;
            }
        }
        Ok(())
    }

    /// These products, in one launch: a block for each tile of each.
    pub fn multiply(&mut self, products: Range<usize>, stream: &Stream) -> Result<()> {
        let Shape { m, n, k, .. } = self.shape;
        let of = |len| products.start * len..products.end * len;
        let [a, b, c] = &mut self.device;
        let (a, b, mut c) = (a.index(of(m * k)), b.index(of(n * k)), c.index(of(m * n)));
        let blocks = (self.shape.tiles() * products.len()) as u32;
        let (threads, shared) = (GEMM_MMA_THREADS, GEMM_MMA_SHARED_BYTES);
        let ([m, n, k], gemm) = ([m, n, k].map(|len| len as u32), &self.kernels.gemm_mma_sync);
        // SAFETY: the operands are of this shape and outlive the pass; each product has a place of its own.
        unsafe {
            launch!(gemm<<<blocks, threads, shared, stream>>>(&a, &b, &mut c, m, n, k))?;
        }
        Ok(())
    }

    /// C of these products goes to the host.
    pub fn copy_out(&mut self, products: Range<usize>, stream: &Stream) -> Result<()> {
        let len = self.shape.m * self.shape.n;
        let range = products.start * len..products.end * len;
        // SAFETY: the results are page-locked, outlive the pass, and are read behind it.
        unsafe {
            self.device[2].index(range.clone()).async_copy_to(&mut self.host[2][range], stream)?
        };
        Ok(())
    }

    /// Makes earlier results unrecognisable on the host and on the device.
    pub fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.host[2]);
        Ok(self.device[2].set_8(0xFF)?)
    }

    /// Compares all elements on the host. They are whole numbers, so that their sums are exact and there is one right rounding.
    pub fn check(&self) -> Result<Checked> {
        let (n, len) = (self.shape.n, self.shape.m * self.shape.n);
        let expected = |index: usize| {
            let (product, index) = (index / len, index % len);
            bf16::from_f32(self.expected[product].at(index / n, index % n)).to_bits()
        };
        Ok(check::equal("the products", 0, &self.host[2], expected)?)
    }

    /// As [`check`](Self::check), of what is on the device.
    pub fn check_device(&mut self) -> Result<Checked> {
        self.device[2].copy_to(&mut *self.host[2])?;
        self.check()
    }
}

fn bits(values: Vec<f32>) -> impl Iterator<Item = u16> {
    values.into_iter().map(|value| bf16::from_f32(value).to_bits())
}
