//! The forms of one kernel, and which of them the device has.

use examples_host::prelude::*;
use gpu_kernels::{CONSUMERS, PLAIN_PRODUCERS, SM_70, SM_80, SM_90};
use std::fmt;

kernels! {
    unsafe struct Baseline {
        fn unspecialised(input: &[f32], output: *mut f32, rounds: u32) = gpu_kernels::fma_tiles_unspecialised;
        fn named_barriers(input: &[f32], output: *mut f32, rounds: u32) = gpu_kernels::fma_tiles_named_barriers;
        fn affine_rounds_x4(data: &mut [f32], a: f32, b: f32, rounds: u32) = gpu_kernels::affine_rounds_x4;
    }
}

kernels! {
    unsafe struct AsyncCopies {
        fn cp_async(input: &[f32], output: *mut f32, rounds: u32) = gpu_kernels::fma_tiles_cp_async;
    }
}

kernels! {
    unsafe struct BulkCopies {
        fn bulk(input: &[f32], output: *mut f32, rounds: u32) = gpu_kernels::fma_tiles_bulk;
    }
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

impl Form {
    /// All forms.
    pub const ALL: [Self; 4] = [
        Self::Unspecialised,
        Self::NamedBarriers,
        Self::CpAsync,
        Self::Bulk,
    ];

    /// What programs know it by.
    pub fn id(self) -> &'static str {
        match self {
            Self::Unspecialised => "unspecialised",
            Self::NamedBarriers => "named-barriers",
            Self::CpAsync => "cp-async",
            Self::Bulk => "bulk-copies",
        }
    }

    /// The compute capability that the form's module needs.
    fn needs(self) -> (u32, u32) {
        match self {
            Self::Unspecialised | Self::NamedBarriers => (7, 0),
            Self::CpAsync => (8, 0),
            Self::Bulk => (9, 0),
        }
    }

    /// Threads of a block.
    fn threads(self) -> u32 {
        match self {
            Self::Unspecialised => CONSUMERS,
            Self::NamedBarriers => CONSUMERS + PLAIN_PRODUCERS,
            Self::CpAsync | Self::Bulk => CONSUMERS + 32,
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unspecialised => "unspecialised",
            Self::NamedBarriers => "specialised: plain loads, named barriers",
            Self::CpAsync => "specialised: cp.async, mbarriers",
            Self::Bulk => "specialised: bulk copies, mbarriers",
        })
    }
}

/// The kernels that the device can run.
pub struct Forms {
    baseline: Baseline,
    async_copies: Option<AsyncCopies>,
    bulk_copies: Option<BulkCopies>,
    multiprocessors: u32,
}

impl Forms {
    /// Loads the baseline module, and of those for later devices what this one can run: the kernel with `cp.async` is in both,
    /// and waits for its mbarriers in a better way in the later one.
    pub fn load(device: &Device) -> Result<Self> {
        let capability = device.compute_capability()?;
        let has = |form: Form| capability >= form.needs();
        let with_cp_async = if has(Form::Bulk) { SM_90 } else { SM_80 };
        Ok(Self {
            baseline: Baseline::load(device, SM_70)?,
            async_copies: has(Form::CpAsync)
                .then(|| AsyncCopies::load(device, with_cp_async))
                .transpose()?,
            bulk_copies: has(Form::Bulk)
                .then(|| BulkCopies::load(device, SM_90))
                .transpose()?,
            multiprocessors: device.multiprocessors()?,
        })
    }

    /// The forms that there are, the unspecialised one first.
    pub fn all(&self) -> Vec<Form> {
        let has = |form: &Form| match form {
            Form::Unspecialised | Form::NamedBarriers => true,
            Form::CpAsync => self.async_copies.is_some(),
            Form::Bulk => self.bulk_copies.is_some(),
        };
        Form::ALL.into_iter().filter(has).collect()
    }

    /// What the device does not have, in a sentence for each form.
    pub fn left_out(&self, device: &Device) -> Result<Option<String>> {
        let (major, minor) = device.compute_capability()?;
        let forms = self.all();
        let sentences: Vec<_> = Form::ALL
            .into_iter()
            .filter(|form| !forms.contains(form))
            .map(|form| {
                let needs = form.needs();
                format!(
                    "Left out: {form}: it needs compute capability {}.{}, and this device has {major}.{minor}.",
                    needs.0, needs.1
                )
            })
            .collect();
        Ok((!sentences.is_empty()).then(|| sentences.join("\n")))
    }

    /// `rounds` multiply-adds per element, by as many blocks as make `blocks` per multiprocessor.
    pub fn launch(
        &self,
        form: Form,
        blocks: u32,
        input: &DeviceBuffer<f32>,
        output: &mut DeviceBuffer<f32>,
        rounds: u32,
    ) -> Result<()> {
        let grid = Grid::new(blocks * self.multiprocessors, form.threads());
        match (form, &self.async_copies, &self.bulk_copies) {
            (Form::Unspecialised, ..) => self.baseline.unspecialised(grid, input, output, rounds),
            (Form::CpAsync, Some(module), _) => module.cp_async(grid, input, output, rounds),
            (Form::Bulk, _, Some(module)) => module.bulk(grid, input, output, rounds),
            _ => self.baseline.named_barriers(grid, input, output, rounds),
        }
    }

    /// Arithmetic and nothing else: `rounds` multiply-adds on as many elements as two blocks per multiprocessor hold in
    /// registers, which is how many `data` has; see [`Forms::in_registers`].
    pub fn compute(&self, data: &mut DeviceBuffer<f32>, rounds: u32) -> Result<()> {
        let grid = Grid::new(2 * self.multiprocessors, 256);
        self.baseline.affine_rounds_x4(
            grid,
            data,
            gpu_kernels::FACTOR,
            gpu_kernels::SUMMAND,
            rounds,
        )
    }

    /// Elements for [`Forms::compute`].
    pub fn in_registers(&self) -> usize {
        2 * 256 * 4 * self.multiprocessors as usize
    }
}
