//! What the examples share on the host, so that each part of an example is a short lecture.
//!
//! An example's `main.rs` holds the question, the variants and the verdict. Everything else is
//! here, one idea per module:
//!
//! - **The program**: [`example`] (parts, command line, exit code), [`part`] (what a part says and
//!   claims), [`options`], [`size`], [`exit`], [`verdict`].
//! - **The device**: [`device`], [`stream`], [`event`], [`device_buffer`], [`host_buffer`],
//!   [`kernel`], [`host_clock`]. Order is in the types: a device buffer belongs to a stream, all
//!   its operations run there, and handing it to another stream makes that one wait.
//! - **Fair comparison**: [`plan`] and [`tally`] (equal work), [`data`] and [`check`] (every
//!   element), [`measure`] (fork, join, in turn), [`statistics`], [`bound`].
//! - **What really ran when**: [`recorder`], [`intervals`], and [`gantt`], [`trace`], [`table`] to
//!   show it.
//!
//! # A part, as an author writes it
//!
//! ```no_run
//! use examples_host::prelude::*;
//!
//! kernels! {
//!     /// The kernels of this example.
//!     unsafe struct Kernels {
//!         fn affine(data: &mut [f32], a: f32, b: f32) = "affine";
//!     }
//! }
//! # const PTX: &str = "";
//!
//! fn main() -> std::process::ExitCode {
//!     Example::new("three_way", "Copies in, kernels and copies out at the same time")
//!         .part("three-way", "How near to the bound do three streams come?", three_way)
//!         .main()
//! }
//!
//! /// What the variants share.
//! struct Work {
//!     input: Vec<HostBuffer<f32>>,
//!     output: Vec<HostBuffer<f32>>,
//!     rotating: Vec<DeviceBuffer<f32>>,
//!     kernels: Kernels,
//! }
//!
//! impl Work {
//!     /// All chunks through three roles. On one stream, `hand_to` does nothing.
//!     fn pass(&mut self, copy_in: &Stream, compute: &Stream, copy_out: &Stream) -> Result<()> {
//!         let count = self.rotating.len();
//!         for (chunk, (input, output)) in self.input.iter().zip(&mut self.output).enumerate() {
//!             let data = &mut self.rotating[chunk % count];
//!             data.hand_to(copy_in)?; // behind the copy out of the chunk that it held before
//!             data.copy_from(input)?;
//!             data.hand_to(compute)?;
//!             self.kernels.affine(Grid::cover(data.len(), 256), data, 2.0, 1.0)?;
//!             data.hand_to(copy_out)?;
//!             data.copy_to(output)?;
//!         }
//!         Ok(())
//!     }
//! }
//!
//! fn three_way(part: &mut Part) -> anyhow::Result<()> {
//!     let device = part.device();
//!     let elements = part.elements::<f32>(ByteSize::mib(64))?;
//!     let chunks = part.chunks(16, elements)?;
//!     let [h, k, d] = ["copy in", "compute", "copy out"].map(|name| Stream::non_blocking(device, name));
//!     let (h, k, d) = (h?, k?, d?);
//!     let mut input = HostBuffer::page_locked(device, elements)?;
//!     Seed::new(1).fill_f32(0, input.write()?);
//!     let room = elements.div_ceil(chunks).next_multiple_of(32);
//!     let mut work = Work {
//!         input: input.split(chunks)?,
//!         output: HostBuffer::page_locked(device, elements)?.split(chunks)?,
//!         rotating: (0..3).map(|_| DeviceBuffer::new(&h, room)).collect::<Result<_>>()?,
//!         kernels: Kernels::load(device, PTX)?,
//!     };
//!     let plan = Plan::new().bytes_in(4 * elements).bytes_out(4 * elements).launches(chunks, elements);
//!     let outcomes = Comparison::new(plan)
//!         .variant("one stream", &[&h], |work: &mut Work| Ok(work.pass(&h, &h, &h)?))
//!         .variant("three streams", &[&h, &k, &d], |work| Ok(work.pass(&h, &k, &d)?))
//!         .prepare(|work| Ok(work.output.iter_mut().try_for_each(HostBuffer::poison)?))
//!         .check(|work| {
//!             let affine = |index| Seed::new(1).f32(index).mul_add(2.0, 1.0);
//!             check::pieces("output", &work.output, affine)
//!         })
//!         .run(part, &mut work)?;
//!     part.say(measure::table(&outcomes, device.times()));
//!     let three = &outcomes[1];
//!     part.chart(&three.name, &three.recording, Rows::Engines);
//!     let both = three.recording.overlap(Engine::HostToDevice, Engine::DeviceToHost);
//!     let share = both.as_secs_f64() / three.recording.busy(Engine::DeviceToHost).as_secs_f64();
//!     part.claim_share_at_least("copies in run during copies out", share, 0.8);
//!     Ok(())
//! }
//! ```

pub mod bound;
pub mod check;
pub mod child;
mod cupti;
pub mod data;
pub mod device;
pub mod device_buffer;
pub mod error;
pub mod event;
pub mod example;
pub mod exit;
pub mod gantt;
pub mod host_buffer;
pub mod host_clock;
pub mod intervals;
pub mod kernel;
pub mod measure;
pub mod options;
mod output;
pub mod part;
pub mod plan;
pub mod recorder;
pub mod ring;
pub mod size;
pub mod split;
pub mod statistics;
pub mod stream;
pub mod table;
pub mod tally;
pub mod trace;
pub mod units;
pub mod verdict;

pub use error::{Error, Result};

/// What nearly every example uses.
pub mod prelude {
    pub use crate::bound::{Overlap, Stages};
    pub use crate::check::{self, Checked};
    pub use crate::data::Seed;
    pub use crate::device::Device;
    pub use crate::device_buffer::DeviceBuffer;
    pub use crate::error::{Error, Result};
    pub use crate::event::{Event, Timing};
    pub use crate::example::Example;
    pub use crate::gantt::Rows;
    pub use crate::host_buffer::{HostBuffer, HostMemory};
    pub use crate::host_clock;
    pub use crate::intervals::{Engine, Recording};
    pub use crate::kernel::Grid;
    pub use crate::kernels;
    pub use crate::measure::{self, Comparison, Outcome, Sample, Stopwatch};
    pub use crate::part::Part;
    pub use crate::plan::Plan;
    pub use crate::recorder::record;
    pub use crate::ring::Ring;
    pub use crate::size::ByteSize;
    pub use crate::stream::Stream;
    pub use crate::table::Table;
    pub use crate::units;
}
