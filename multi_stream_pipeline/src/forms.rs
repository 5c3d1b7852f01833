//! Four forms of one kernel over tiles: they leave the same bits, and differ in how a tile comes into shared memory.

use crate::forms::Form::{Bulk, CpAsync, NamedBarriers, Unspecialised};
use anyhow::{Result, bail};
use cuda_host::prelude::*;
use gpu_kernels::{CONSUMERS, PLAIN_PRODUCERS, SM_70, SM_80, SM_90};

kernels! { struct Plain; use gpu_kernels::{fma_tiles_named_barriers, fma_tiles_unspecialised}; }
kernels! { struct AsyncCopies; use gpu_kernels::fma_tiles_cp_async; }
kernels! { struct BulkCopies; use gpu_kernels::fma_tiles_bulk; }

/// How tiles come into shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All warps load a tile, then all compute.
    Unspecialised,
    /// Producer warps load by plain loads; named barriers hand tiles over.
    NamedBarriers,
    /// A producer warp issues asynchronous copies of 16 bytes; mbarriers hand tiles over. It takes compute capability 8.0.
    CpAsync,
    /// One thread issues one bulk copy per tile; mbarriers hand tiles over. It takes compute capability 9.0.
    Bulk,
}

/// The kernels that the device can run.
pub struct Forms {
    multiprocessors: u32,
    plain: Plain,
    async_copies: Option<AsyncCopies>,
    bulk_copies: Option<BulkCopies>,
}

impl Forms {
    /// Loads the modules of the forms that there are. The kernel with `cp.async` is in two, and waits for its mbarriers in a
    /// better way in the later one.
    pub fn load(all: &[Form], multiprocessors: u32) -> Result<Self> {
        let has = |form| all.contains(&form);
        let sm_80 = if has(Bulk) { SM_90 } else { SM_80 };
        let plain = Plain::load(SM_70)?;
        let async_copies = has(CpAsync).then(|| AsyncCopies::load(sm_80)).transpose()?;
        let bulk_copies = has(Bulk).then(|| BulkCopies::load(SM_90)).transpose()?;
        Ok(Self { multiprocessors, plain, async_copies, bulk_copies })
    }

    /// `rounds` multiply-adds per element, by `blocks` blocks per multiprocessor.
    ///
    /// # Safety
    /// The output is as long as the input, a multiple of four elements, and nothing else uses the two meanwhile.
    pub unsafe fn launch(
        &self,
        (form, blocks): (Form, u32),
        (input, output): (&DeviceSlice<f32>, &mut DeviceSlice<f32>),
        rounds: u32,
        stream: &Stream,
    ) -> Result<()> {
        let (plain, grid) = (&self.plain, blocks * self.multiprocessors);
        let (with_producers, with_a_warp) = (CONSUMERS + PLAIN_PRODUCERS, CONSUMERS + 32);
        // SAFETY: the caller's promise; any grid covers all tiles, and each form has its number of threads.
        unsafe {
            match (form, &self.async_copies, &self.bulk_copies) {
                (Unspecialised, ..) => {
                    launch!(plain.fma_tiles_unspecialised<<<grid, CONSUMERS, 0, stream>>>(input, output, rounds))?
                }
                (NamedBarriers, ..) => {
                    launch!(plain.fma_tiles_named_barriers<<<grid, with_producers, 0, stream>>>(input, output, rounds))?
                }
                (CpAsync, Some(module), _) => {
                    launch!(module.fma_tiles_cp_async<<<grid, with_a_warp, 0, stream>>>(input, output, rounds))?
                }
                (Bulk, _, Some(module)) => {
                    launch!(module.fma_tiles_bulk<<<grid, with_a_warp, 0, stream>>>(input, output, rounds))?
                }
                _ => bail!("{form:?}: the device does not have it"),
            }
        }
        Ok(())
    }
}
