//! The forms of one kernel, and which of them the device has.

use examples_host::prelude::*;
use gpu_kernels::{CONSUMERS, PLAIN_PRODUCERS, SM_70, SM_90, names};
use std::fmt;

kernels! {
    unsafe struct Baseline {
        fn unspecialised(input: &[f32], output: *mut f32, rounds: u32) = names::FMA_TILES_UNSPECIALISED;
        fn named_barriers(input: &[f32], output: *mut f32, rounds: u32) = names::FMA_TILES_NAMED_BARRIERS;
        fn affine_rounds_x4(data: &mut [f32], a: f32, b: f32, rounds: u32) = names::AFFINE_ROUNDS_X4;
    }
}

kernels! {
    unsafe struct Hopper {
        fn cp_async(input: &[f32], output: *mut f32, rounds: u32) = names::FMA_TILES_CP_ASYNC;
        fn bulk(input: &[f32], output: *mut f32, rounds: u32) = names::FMA_TILES_BULK;
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
    hopper: Option<Hopper>,
    multiprocessors: u32,
}

impl Forms {
    /// Loads the baseline module, and that of sm_90 where the device can.
    pub fn load(device: &Device) -> Result<Self> {
        let has_bulk_copies = device.compute_capability()? >= (9, 0);
        Ok(Self {
            baseline: Baseline::load(device, SM_70)?,
            hopper: has_bulk_copies
                .then(|| Hopper::load(device, SM_90))
                .transpose()?,
            multiprocessors: device.multiprocessors()?,
        })
    }

    /// The forms that there are, the unspecialised one first.
    pub fn all(&self) -> Vec<Form> {
        let mut all = vec![Form::Unspecialised, Form::NamedBarriers];
        if self.hopper.is_some() {
            all.extend([Form::CpAsync, Form::Bulk]);
        }
        all
    }

    /// What the device does not have, in a sentence.
    pub fn left_out(&self, device: &Device) -> Result<Option<String>> {
        let (major, minor) = device.compute_capability()?;
        Ok(self.hopper.is_none().then(|| {
            format!(
                "Left out: {}, and {}: the module with them needs compute capability 9.0,\n\
                 and this device has {major}.{minor}.",
                Form::CpAsync,
                Form::Bulk
            )
        }))
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
        match (form, &self.hopper) {
            (Form::Unspecialised, _) => self.baseline.unspecialised(grid, input, output, rounds),
            (Form::CpAsync, Some(hopper)) => hopper.cp_async(grid, input, output, rounds),
            (Form::Bulk, Some(hopper)) => hopper.bulk(grid, input, output, rounds),
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
