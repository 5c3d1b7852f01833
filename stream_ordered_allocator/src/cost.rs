//! cost: what does an allocation in a loop cost, and where does a pool help?
//!
//! `cuMemAlloc` asks the operating system for memory, unless the driver still has some; `cuMemFree` waits for all work
//! that might use it, in every stream. The pool's calls do neither:
//!
//! ```text
//! cuMemAlloc  host   |alloc launch free........ alloc launch free........ |
//!             device |           KKKK                      KKKK           |
//! pool        host   |a launch f a launch f a launch f                    |
//!             device |    KKKK     KKKK       KKKK                        |
//! ```
//!
//! First the calls alone are timed, each by itself: half of them, all but one in a hundred, and the slowest. Then they
//! stand in a loop with kernels that work in the first 4 KiB of the memory, whatever its size, in one stream and in eight,
//! beside a loop whose memory was allocated once: what a loop takes longer than that one is the allocator's share.
//!
//! A pool that several streams share looks for memory that another of them has freed, unless its policies of reuse forbid
//! it, and that search costs the host more than the rest of the call: so one variant forbids it. A pool that does not
//! remove nearly all of the cost of large allocations would prove this wrong; small ones the driver keeps itself, and what a
//! pool saves there is printed and not claimed.

mod calls;
mod in_loop;
mod source;

use crate::bytes_of_each;
use examples_host::prelude::*;

/// Where the pool's worth is claimed: one of the steps of [`sizes`], so that any `--size` from here on has it.
const JUDGED: usize = 16 << 20;
const STREAMS: usize = 8;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(format!(
        "From some size on cuMemAlloc and cuMemFree cost many microseconds; the pool's calls cost one or two at every\n\
         size, once it may keep its memory. At {} they remove 95 % of the cost or more.",
        units::bytes(JUDGED as u64)
    ));
    let sizes = sizes(part)?;
    calls::run(part, &sizes)?;
    in_loop::say_what_is_done(part, &sizes);
    for streams in [1, STREAMS] {
        in_loop::run(part, &sizes, streams)?;
    }
    if !sizes.contains(&JUDGED) {
        let judged = units::bytes(JUDGED as u64);
        part.say(format!(
            "Not judged: what a pool removes and gains is claimed at {judged} only. That is among the sizes with --size {}\n\
             or more.",
            judged.replace(' ', ""),
        ));
    }
    Ok(())
}

/// From 64 KiB in steps of sixteen, and the largest asked for, in bytes.
fn sizes(part: &Part) -> anyhow::Result<Vec<usize>> {
    let largest = bytes_of_each::<f32>(part, STREAMS, ByteSize::mib(64))?;
    let steps = (0..).map(|step| (64 << 10) << (4 * step));
    let smaller = steps.take_while(|&bytes| bytes < largest);
    Ok(smaller.chain([largest]).collect())
}
