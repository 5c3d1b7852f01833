//! Written from a stream program.

use anyhow::Result;
use cuda_host::prelude::*;

kernels! { use gpu_kernels::{affine_rounds, affine_rounds_x4}; }

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;

    const LARGE: usize = 1 << 21;
    const SMALL: usize = 1 << 11;
    const ALL: usize = LARGE + SMALL;
    const THREADS: usize = 256;
    const LONG: usize = 1 << 17;
    let large = stream::non_blocking()?.named("large");
    let small = stream::non_blocking()?.named("small");
    let mut memory = LockedBuffer::new(&0f32, ALL)?;
    let data = unsafe { DeviceBuffer::<f32>::uninitialized(ALL) }?;
    labs::fill(&mut memory, 0);
    unsafe { data.index(LARGE..ALL).async_copy_from(&memory[LARGE..ALL], &small)? };
    unsafe { launch!(kernels.affine_rounds<<<(SMALL / THREADS) as u32, THREADS as u32, 0, small>>>(&mut data.index(LARGE..ALL), 1.0, 0.125, LONG as u32))? };
    unsafe { data.index(0..LARGE).async_copy_from(&memory[0..LARGE], &large)? };
    unsafe { launch!(kernels.affine_rounds_x4<<<(LARGE / 4 / THREADS) as u32, THREADS as u32, 0, large>>>(&mut data.index(0..LARGE), 1.0, 0.125, 1))? };
    unsafe { data.index(0..LARGE).async_copy_to(&mut memory[0..LARGE], &large)? };
    unsafe { data.index(LARGE..ALL).async_copy_to(&mut memory[LARGE..ALL], &small)? };
    large.synchronize()?;
    small.synchronize()?;
    labs::hand_in(&memory)?;
    Ok(())
}
