//! The small kernels that use memory for cost, pool and lifetime.

use examples_host::prelude::*;

kernels! {
    pub unsafe struct Kernels {
        fn fill_all(out: &mut [f32], value: f32) = gpu_kernels::fill;
        fn saxpy(a: f32, x: &[f32], y: *mut f32) = gpu_kernels::saxpy;
        fn affine_rounds(data: &mut [f32], a: f32, b: f32, rounds: u32) = gpu_kernels::affine_rounds;
    }
}

impl Kernels {
    /// Sets every element.
    pub fn fill(&self, data: &mut DeviceBuffer<f32>, value: f32) -> Result<()> {
        self.fill_all(Grid::cover(data.len(), 256), data, value)
    }

    /// y = a x + y for every element of x; y is as long.
    pub fn add_scaled(
        &self,
        a: f32,
        x: &DeviceBuffer<f32>,
        y: &mut DeviceBuffer<f32>,
    ) -> Result<()> {
        self.saxpy(Grid::cover(x.len(), 256), a, x, y)
    }

    /// Keeps the buffer's stream busy with `steps` dependent steps, 2 to 3 ns each, of one small block.
    pub fn keep_busy(&self, any: &mut DeviceBuffer<f32>, steps: u32) -> Result<()> {
        self.affine_rounds(Grid::new(1, 32), any, 1.0, 0.0, steps)
    }
}
