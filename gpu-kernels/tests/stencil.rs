//! A step of Jacobi's method against the same operations on the CPU, bit for bit, for widths and rows that are no multiples of a
//! block.

mod support;

use anyhow::{Result, ensure};
use gpu_kernels::{SM_70, Signature as _};
use support::LaunchArgument::U32;
use support::{LaunchExtents, TestDevice, download, numbers, pointer, upload};

/// What must stay in rows that are not asked for.
const UNTOUCHED: f32 = -7.0;

fn step(
    device: &TestDevice,
    (width, rows): (u32, u32),
    (first, last): (u32, u32),
    per_thread: u32,
) -> Result<()> {
    let grid = numbers(1, (width * rows) as usize);
    let (input, output) = (upload(&grid)?, upload(&vec![UNTOUCHED; grid.len()])?);
    let shape = LaunchExtents {
        grid: [width.div_ceil(64), (last - first).div_ceil(per_thread), 1],
        threads: 64,
        shared_bytes: 0,
    };
    let numbers = [width, first, last, per_thread].map(U32);
    let arguments = [&[pointer(&input), pointer(&output)][..], &numbers].concat();
    // SAFETY: the kernel's parameters; both grids have these extents, with a row above and below.
    unsafe { device.run(gpu_kernels::jacobi::NAME, shape, &arguments)? };
    let width = width as usize;
    for (i, found) in download(&output)?.into_iter().enumerate() {
        let (row, column) = (i / width, i % width);
        let side = |there: bool, at: usize| if there { grid[at] } else { 0.0 };
        let expected = if (first as usize..last as usize).contains(&row) {
            let sides = side(column > 0, i.wrapping_sub(1)) + side(column + 1 < width, i + 1);
            0.25 * ((grid[i - width] + grid[i + width]) + sides)
        } else {
            UNTOUCHED
        };
        ensure!(
            found.to_bits() == expected.to_bits(),
            "row {row}, column {column}: {found}, not {expected}"
        );
    }
    Ok(())
}

#[test]
fn every_element_asked_for_is_the_mean_of_its_neighbours() -> Result<()> {
    let device = TestDevice::open(SM_70)?;
    step(&device, (64, 10), (1, 9), 8)?;
    step(&device, (100, 12), (1, 11), 4)?;
    step(&device, (1, 5), (1, 4), 1)?;
    step(&device, (67, 9), (4, 5), 16)?;
    step(&device, (130, 20), (2, 17), 7)
}
