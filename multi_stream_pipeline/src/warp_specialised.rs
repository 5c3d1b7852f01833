//! warp-specialised: the pipeline inside a kernel, and the one around it.
//!
//! A kernel that works on tiles loads a tile into shared memory and computes with it. If all warps do both, with a barrier
//! in between, a block that loads does not compute and a block that computes does not load. *Specialised* warps divide
//! the work: producers do nothing but fill the stages of a ring in shared memory, consumers do nothing but compute.
//! Barriers of single stages hand the tiles over, one for "full", one for "empty"; none that all warps wait at is in the
//! loop.
//!
//! ```text
//! unspecialised  all       |LLL CCC LLL CCC LLL CCC
//! specialised    producers |LLL lll LLL lll
//!                consumers |    CCC ccc CCC ccc
//! ```
//!
//! With M for the time that memory needs and A for that of the arithmetic, the one takes M + A, the other the longer of
//! both: most is gained where they are equal. But a block that waits for memory leaves room for another: several blocks on one
//! multiprocessor overlap each other's phases without any producer. Specialising is for kernels whose blocks are few and
//! large, and what it still gains with many blocks is gained at the balance. Producers that load by plain loads must hold
//! what they load in registers: they are no match for copies that need none.
//!
//! Around the kernel, streams do the same with copies and kernels, and each batch has memory from a pool, in the order of
//! its stream. The two gains are measured one at a time. A time below the bounds, a form whose results differ in a bit, or,
//! with many blocks, a gain where memory or arithmetic is all there is, would prove this wrong.

mod batches;
mod bench;
mod forms;
mod intensity;
mod streams;

use examples_host::prelude::*;
use forms::Forms;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let forms = Forms::load(part.device())?;
    let balance = intensity::compare(part, &forms)?;
    streams::compare(part, &forms, &balance)
}
