//! free-without-order: memory of a pool is freed in one stream while another still uses it.
//!
//! ```text
//! racy    first  |alloc HHHH other KKKK DDDD          fixed   first  |alloc HHHH other KKKK DDDD free
//!         second |free, alloc    HHHHSS                       second |alloc          HHHHSS
//! ```
//!
//! A free in stream order takes effect when *its* stream comes to it. The next allocation in that stream gets the same
//! memory at once, and what it stores there lands where the first stream's kernel
//! still expects its own.

use crate::data::{Data, transformed};
use crate::pair::{Outcome, Pair, Program};
use examples_host::prelude::*;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let pair = Pair {
        prediction: "Freed in the wrong stream, the memory gets a new owner while the kernel uses it.",
        report_names: &["freed without order"],
    };
    pair.run(part, program)
}

fn program(which: Program, data: &mut Data) -> anyhow::Result<Outcome> {
    let mut batch = DeviceBuffer::from_pool(&data.first, data.len())?;
    batch.copy_from(&data.input)?;
    let mut other_work = DeviceBuffer::new(&data.first, 4)?;
    other_work.poison()?;
    data.kernels.keep_busy(&mut other_work, data.len())?;
    data.kernels.transform(&mut batch)?;
    batch.copy_to(&mut data.output)?;
    if which == Program::Racy {
        // SAFETY: whatever bytes the result has are numbers, and that they are wrong is the lesson.
        unsafe { batch.assume_ordered_on(&data.second) };
    }
    // Freed in the stream that it belongs to, behind that stream's work.
    drop(batch);
    let mut next = DeviceBuffer::from_pool(&data.second, data.len())?;
    next.copy_from(&data.input)?;
    next.poison()?;
    Ok(check::equal(
        "the result",
        0,
        data.output.read()?,
        transformed,
    ))
}
