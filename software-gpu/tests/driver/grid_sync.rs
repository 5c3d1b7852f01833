//! `grid.sync()` of cooperative groups, as nvcc compiles it.

use std::ffi::{c_uint, c_void};

use crate::driver_support::*;
use software_gpu::driver::entry_point;

/// nvcc 13.0's code for a kernel whose blocks add up a part each, wait for all with `cg::this_grid().sync()`, and whose first thread then
/// adds up the parts: `reduce(const int *in, int *partial, int *out, int n)`.
const REDUCE: &str = include_str!("grid_sync.ptx");

const BLOCKS: u32 = 24;
const THREADS: u32 = 128;
const COUNT: u32 = 10_000;

/// Launches it cooperatively or not, and returns the sum.
fn reduce(driver: &Driver, kernel: Handle, cooperative: bool) -> Result<u32, Error> {
    let input = driver.allocate(4 * COUNT as usize)?;
    let (partial, out) = (driver.allocate(4 * BLOCKS as usize)?, driver.allocate(4)?);
    driver.fill(partial, 0, 4 * BLOCKS as usize);
    driver.fill(out, 0, 4);
    let ones = vec![1_u32; COUNT as usize];
    cu!(cuMemcpyHtoD_v2(
        input => Address, ones.as_ptr() => *const u32, 4 * ones.len() => usize,
    ))?;
    let arguments: [&dyn LaunchArgument; 4] = [&input, &partial, &out, &COUNT];
    let pointers = arguments.map(|argument| argument.pointer());
    if cooperative {
        cu!(cuLaunchCooperativeKernel(
            kernel => Handle,
            BLOCKS => c_uint, 1 => c_uint, 1 => c_uint,
            THREADS => c_uint, 1 => c_uint, 1 => c_uint,
            0 => c_uint, 0 => Handle,
            pointers.as_ptr() => *const *const c_void,
        ))?;
    } else {
        driver.launch(kernel, BLOCKS, THREADS, 0, &arguments)?;
    }
    driver.synchronize()?;
    let bytes = driver.read(out, 4);
    Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

#[test]
fn all_blocks_have_arrived_when_the_first_continues() {
    let driver = Driver::new();
    let kernel = driver.kernel(REDUCE, "_Z6reducePKiPiS1_i");
    // Each launch finds the counter as the one before left it.
    for _ in 0..3 {
        assert_eq!(reduce(&driver, kernel, true), Ok(COUNT));
    }
}

#[test]
fn a_launch_that_is_not_cooperative_has_no_grid_to_wait_for() {
    let driver = Driver::new();
    let kernel = driver.kernel(REDUCE, "_Z6reducePKiPiS1_i");
    // CUDA_ERROR_LAUNCH_FAILED: nvcc's code executes `trap`.
    assert_eq!(reduce(&driver, kernel, false), Err(719));
}
