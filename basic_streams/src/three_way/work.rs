//! The data of three-way, the memory it lies in, and its stages one by one.

use examples_host::prelude::*;
use gpu_kernels::SM_70;

kernels! {
    pub unsafe struct Kernels {
        fn affine_x4(data: &mut [f32], a: f32, b: f32) = gpu_kernels::affine_x4;
    }
}

const DATA: Seed = Seed::new(1);
const A: f32 = 2.0;
const B: f32 = 1.0;

/// What must come out.
pub fn expected(index: usize) -> f32 {
    DATA.f32(index).mul_add(A, B)
}

impl Kernels {
    /// x = a x + b for every element.
    pub fn update(&self, data: &mut DeviceBuffer<f32>) -> Result<()> {
        let groups_of_four = data.len().div_ceil(4);
        self.affine_x4(Grid::cover(groups_of_four, 256), data, A, B)
    }
}

/// Device buffers in rotation: one per stage.
const BUFFERS: usize = 3;

/// The data, cut into chunks, and the buffers that the chunks pass through.
pub struct Work {
    pub input: Vec<HostBuffer<f32>>,
    pub output: Vec<HostBuffer<f32>>,
    pub rotating: Ring<f32>,
    pub kernels: Kernels,
    /// Leave out the event between copy in and kernel.
    pub omit_event: bool,
}

impl Work {
    /// Page-locked data in one chunk, with device buffers that belong to `stream`.
    pub fn new(part: &Part, stream: &Stream, elements: usize) -> Result<Self> {
        let device = part.device();
        let mut input = HostBuffer::page_locked(device, elements)?;
        DATA.fill_f32(0, input.write()?);
        Ok(Self {
            input: vec![input],
            output: vec![HostBuffer::page_locked(device, elements)?],
            rotating: Ring::new(stream, 1, elements)?,
            kernels: Kernels::load(device, SM_70)?,
            omit_event: part.options().omit_event,
        })
    }

    /// Cuts the same data into another number of chunks.
    pub fn cut(&mut self, stream: &Stream, chunks: usize) -> Result<()> {
        self.input = HostBuffer::join(std::mem::take(&mut self.input))?.split(chunks)?;
        self.output = HostBuffer::join(std::mem::take(&mut self.output))?.split(chunks)?;
        let longest = self.input.iter().map(HostBuffer::len).max().unwrap_or(1);
        self.rotating = Ring::new(stream, BUFFERS.min(chunks), longest)?;
        Ok(())
    }

    /// Elements of all chunks.
    pub fn elements(&self) -> usize {
        self.input.iter().map(HostBuffer::len).sum()
    }

    /// Makes every result of an earlier run unrecognisable.
    pub fn poison(&mut self) -> Result<()> {
        self.rotating.poison()?;
        self.output.iter_mut().try_for_each(HostBuffer::poison)
    }

    /// Compares every element with what the CPU computes.
    pub fn check(&self) -> anyhow::Result<Checked> {
        check::pieces("the output", &self.output, expected)
    }

    /// Times each stage without the others, and both directions together, in one piece each: no
    /// schedule of any number of chunks takes less.
    pub fn stages_alone(
        &mut self,
        part: &Part,
        [copy_in, compute, copy_out]: [&Stream; 3],
    ) -> Result<Stages> {
        self.cut(copy_in, 1)?;
        let (input, output) = (&self.input[0], &mut self.output[0]);
        let mut arriving = DeviceBuffer::new(copy_in, input.len())?;
        let mut leaving = DeviceBuffer::new(copy_out, input.len())?;
        leaving.poison()?;
        let (watch, runs) = (Stopwatch::new(part.device())?, part.iterations(5));
        let h = watch.median(runs, [copy_in], || arriving.copy_from(input))?;
        let d = watch.median(runs, [copy_out], || leaving.copy_to(output))?;
        let both = watch.median(runs, [copy_in, copy_out], || {
            arriving.copy_from(input)?;
            leaving.copy_to(output)
        })?;
        arriving.hand_to(compute)?;
        let k = watch.median(runs, [compute], || self.kernels.update(&mut arriving))?;
        Ok(Stages {
            copy_in: h,
            kernel: k,
            copy_out: d,
            both_copies: both,
        })
    }
}
