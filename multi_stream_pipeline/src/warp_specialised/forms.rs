//! The forms of one kernel over tiles: they leave the same bits, and differ in how a tile comes into shared memory.

use anyhow::{Result, bail};
use cuda_host::{kernels, launch};
use cust::memory::DeviceSlice;
use cust::stream::Stream;
use examples_host::prelude::*;
use gpu_kernels::{CONSUMERS, PLAIN_PRODUCERS, SM_70, SM_80, SM_90};
use std::fmt;

kernels! {
    /// Kernels for every GPU: plain loads.
    struct Baseline;
    use gpu_kernels::{fma_tiles_named_barriers, fma_tiles_unspecialised};
}
kernels! {
    /// From compute capability 8.0 on: `cp.async` and mbarriers.
    struct AsyncCopies;
    use gpu_kernels::fma_tiles_cp_async;
}
kernels! {
    /// From compute capability 9.0 on: bulk copies.
    struct BulkCopies;
    use gpu_kernels::fma_tiles_bulk;
}

/// How tiles come into shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All warps load a tile, then all compute.
    Unspecialised,
    /// Producer warps load by plain loads; named barriers hand tiles over.
    NamedBarriers,
    /// A producer warp issues asynchronous copies of 16 bytes; mbarriers hand tiles over.
    CpAsync,
    /// One thread issues one bulk copy per tile; mbarriers hand tiles over.
    Bulk,
}

use Form::{Bulk, CpAsync, NamedBarriers, Unspecialised};

impl Form {
    /// All forms, the one without producers first.
    pub const ALL: [Self; 4] = [Unspecialised, NamedBarriers, CpAsync, Bulk];

    /// What programs and readers know it by.
    pub fn label(self) -> Label {
        let (id, text) = match self {
            Unspecialised => ("unspecialised", "unspecialised"),
            NamedBarriers => ("named-barriers", "specialised: plain loads, named barriers"),
            CpAsync => ("cp-async", "specialised: cp.async, mbarriers"),
            Bulk => ("bulk-copies", "specialised: bulk copies, mbarriers"),
        };
        Label::new(id, text)
    }

    /// The compute capability that it needs.
    fn needs(self) -> (u32, u32) {
        match self {
            Unspecialised | NamedBarriers => (7, 0),
            CpAsync => (8, 0),
            Bulk => (9, 0),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.label().fmt(f)
    }
}

/// The kernels that the device can run.
pub struct Forms {
    /// The forms that there are.
    pub all: Vec<Form>,
    multiprocessors: u32,
    baseline: Baseline,
    async_copies: Option<AsyncCopies>,
    bulk_copies: Option<BulkCopies>,
}

impl Forms {
    /// Loads the modules that the device can run. The kernel with `cp.async` is in two, and waits for its mbarriers in a better
    /// way in the later one.
    pub fn load(part: &mut Part) -> Result<Self> {
        let all = part.capable(&Form::ALL, Form::needs)?;
        let has = |form| all.contains(&form);
        let with_cp_async = if has(Bulk) { SM_90 } else { SM_80 };
        Ok(Self {
            baseline: Baseline::load(SM_70)?,
            async_copies: has(CpAsync).then(|| AsyncCopies::load(with_cp_async)).transpose()?,
            bulk_copies: has(Bulk).then(|| BulkCopies::load(SM_90)).transpose()?,
            multiprocessors: part.device().multiprocessors()?,
            all,
        })
    }

    /// `rounds` multiply-adds per element, by `blocks` blocks per multiprocessor.
    ///
    /// # Safety
    /// The output is as long as the input, a multiple of four elements, and nothing else uses the two meanwhile.
    pub unsafe fn launch(
        &self,
        form: Form,
        blocks: u32,
        (input, output): (&DeviceSlice<f32>, &mut DeviceSlice<f32>),
        rounds: u32,
        stream: &Stream,
    ) -> Result<()> {
        let Self { baseline, async_copies, bulk_copies, .. } = self;
        let grid = blocks * self.multiprocessors;
        let (with_producers, with_a_warp) = (CONSUMERS + PLAIN_PRODUCERS, CONSUMERS + 32);
        // SAFETY: the caller's promise; any grid covers all tiles, and each form has its number of threads.
        unsafe {
            match (form, async_copies, bulk_copies) {
                (Unspecialised, ..) => {
                    launch!(baseline.fma_tiles_unspecialised<<<grid, CONSUMERS, 0, stream>>>(input, output, rounds))?
                }
                (NamedBarriers, ..) => {
                    launch!(baseline.fma_tiles_named_barriers<<<grid, with_producers, 0, stream>>>(input, output, rounds))?
                }
                (CpAsync, Some(module), _) => {
                    launch!(module.fma_tiles_cp_async<<<grid, with_a_warp, 0, stream>>>(input, output, rounds))?
                }
                (Bulk, _, Some(module)) => {
                    launch!(module.fma_tiles_bulk<<<grid, with_a_warp, 0, stream>>>(input, output, rounds))?
                }
                _ => bail!("{form}: the device does not have it"),
            }
        }
        Ok(())
    }
}
