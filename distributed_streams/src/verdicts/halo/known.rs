//! The grid, and the same grid after all steps, computed on the CPU.

use crate::halo::grid::Grid;
use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::{Context, CurrentContext};
use examples_host::prelude::*;

const DATA: Seed = Seed::new(83);

/// The grid on the GPUs, and what it is after all steps.
pub struct CheckedGrid {
    pub grid: Grid,
    expected: Vec<f32>,
}

impl CheckedGrid {
    pub fn new(
        contexts: &[Context],
        [rows, width]: [usize; 2],
        rows_per_thread: u32,
        steps: usize,
    ) -> Result<Self> {
        let expected = steps_on_the_cpu(contexts.len() * rows, width, steps);
        Ok(Self { grid: Grid::new(contexts, [rows, width], rows_per_thread, steps)?, expected })
    }
}

/// The uncut grid after this many steps, with the kernel's operations in the kernel's order.
fn steps_on_the_cpu(rows: usize, width: usize, steps: usize) -> Vec<f32> {
    let mut grid = vec![0.0; (rows + 2) * width];
    DATA.fill_f32(0, &mut grid[width..(rows + 1) * width]);
    let mut next = grid.clone();
    for _ in 0..steps {
        for row in 1..=rows {
            for column in 0..width {
                let i = row * width + column;
                let left = if column > 0 { grid[i - 1] } else { 0.0 };
                let right = if column + 1 < width { grid[i + 1] } else { 0.0 };
                next[i] = 0.25 * ((grid[i - width] + grid[i + width]) + (left + right));
            }
        }
        std::mem::swap(&mut grid, &mut next);
    }
    grid[width..(rows + 1) * width].to_vec()
}

impl Workload for CheckedGrid {
    /// The grid as it is before the first step, with the halos that belong to it; NaN in the other.
    fn poison(&mut self) -> Result<()> {
        let (rows, width, gpus) = (self.grid.rows, self.grid.width, self.grid.slabs.len());
        let mut grid = vec![0.0; (gpus * rows + 2) * width];
        DATA.fill_f32(0, &mut grid[width..(gpus * rows + 1) * width]);
        for (gpu, slab) in self.grid.slabs.iter_mut().enumerate() {
            CurrentContext::set_current(&slab.context)?;
            let start = gpu * rows * width;
            slab.grids[0].copy_from(&grid[start..start + (rows + 2) * width])?;
            slab.grids[1].index(width..(rows + 1) * width).set_8(0xFF)?;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let mut checked = Checked::default();
        for (gpu, slab) in self.grid.slabs.iter().enumerate() {
            CurrentContext::set_current(&slab.context)?;
            let mut found = vec![0.0; self.grid.rows * self.grid.width];
            let own = self.grid.width..(self.grid.rows + 1) * self.grid.width;
            slab.grids[self.grid.steps % 2].index(own).copy_to(&mut found)?;
            let first = gpu * found.len();
            let slab = check::equal("the grid", first, &found, |index| self.expected[index])?;
            checked = checked.and(slab);
        }
        Ok(checked)
    }
}
