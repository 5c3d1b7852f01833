//! pool: what does a memory pool hold, and who gets freed memory again?
//!
//! Asking the operating system for device memory is what makes an allocation dear. A pool asks for it once and keeps it:
//!
//! ```text
//! used       ____/‾‾‾‾\______________/‾‾‾‾\___________
//! reserved   ____/‾‾‾‾‾‾‾‾\__________/‾‾‾‾‾‾‾‾‾‾‾‾\___    threshold 0, then max
//!               alloc free wait     alloc free wait trim
//! ```
//!
//! What is free goes back when the host waits, above the release threshold, which is 0 at first: a program that waits
//! once per batch then pays for the memory of every batch again. What one stream has freed another one gets only if the
//! pool may follow an order that exists (events), use a free that happens to be over, or make the stream wait. Memory
//! that stays reserved in spite of threshold 0, goes in spite of the greatest, or crosses streams with no policy that
//! allows it would prove this wrong.

mod life;
mod reuse;

use examples_host::prelude::*;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "With threshold 0 the pool gives all free memory back when the host waits, and the next allocation costs as much\n\
         as the first; with the greatest it keeps all, until it is trimmed. Freed memory crosses to another stream only\n\
         as the policies allow.",
    );
    life::run(part)?;
    reuse::run(part)
}
