//! Bytes that a warp has in flight: what it loads from global memory between two waits for memory, a *round*.
//!
//! The bytes of one round pass the memory port of the multiprocessor one after the other, which delays a block's last warp.
//! That warp also requests its next round later, at a time when the first warps wait for theirs: bytes of another round pass
//! during the latency. So of a phase with several rounds only the largest one delays the block.

use super::context::Context;
use super::op::{Handler, Op};
use super::warp_handlers::{Shape, plain_handler};

/// The rounds of one warp in one phase.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BytesInFlight {
    /// Bytes since the last wait, and of the largest round before.
    since: u64,
    largest: u64,
    /// The block's byte counter at the last update.
    counted: u64,
}

impl BytesInFlight {
    /// The warp continues: of what has been counted for the block so far nothing is new.
    #[inline(always)]
    #[must_use]
    pub fn resumed(self, counted: u64) -> Self {
        Self { counted, ..self }
    }

    /// The same with what has been counted since then.
    #[inline(always)]
    #[must_use]
    pub fn with(self, counted: u64) -> Self {
        Self {
            since: self.since + counted - self.counted,
            counted,
            ..self
        }
    }

    /// The warp waits for all of its requests.
    pub fn wait(&mut self, counted: u64) {
        *self = self.with(counted);
        self.largest = self.largest.max(self.since);
        self.since = 0;
    }

    /// The largest round.
    pub fn at_once(&self) -> u64 {
        self.largest.max(self.since)
    }
}

struct Wait;

impl Shape for Wait {
    unsafe fn run(cx: &mut Context<'_>, _: &Op) {
        cx.in_flight.wait(cx.cost.global_read_bytes);
    }
}

/// Handler that comes before an instruction which waits for memory.
pub(super) fn wait_for_memory() -> Handler {
    plain_handler::<Wait>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_round_counts() {
        let mut asked = BytesInFlight::default();
        asked = asked.resumed(1000);
        asked.wait(1000 + 512);
        asked = asked.with(1512 + 1024);
        // Another warp loads meanwhile.
        asked = asked.resumed(9000);
        asked.wait(9000 + 256);
        assert_eq!(asked.at_once(), 1280);
        asked.wait(9256 + 64);
        assert_eq!(asked.at_once(), 1280);
        asked = asked.with(9320 + 2048);
        assert_eq!(asked.at_once(), 2048);
    }
}
