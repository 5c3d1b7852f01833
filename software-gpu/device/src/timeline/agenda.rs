//! Events at a fixed time, earliest first.
//!
//! Fluids (see `fluid`) end when their changing rates say so and are not listed here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{OpId, Time};

/// Events of one instant are processed in this order, then by operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AgendaEvent {
    /// A grid has drained, or a host function has returned.
    Done(OpId),
    /// A copy or memset is set up and begins to move bytes.
    Moves(OpId),
    /// A grid's blocks may be placed.
    Placeable(OpId),
    /// Everything that an operation waits for is complete.
    Armed(OpId),
    /// The device's front end can start another grid.
    FrontEnd(usize),
}

#[derive(Debug, Default)]
pub(super) struct Agenda(BinaryHeap<Reverse<(Time, AgendaEvent)>>);

impl Agenda {
    pub fn add(&mut self, at: Time, event: AgendaEvent) {
        self.0.push(Reverse((at, event)));
    }

    pub fn next_time(&self) -> Option<Time> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// The next event, if it is due at `now`.
    pub fn take_due(&mut self, now: Time) -> Option<AgendaEvent> {
        if self.next_time()? > now {
            return None;
        }
        self.0.pop().map(|Reverse((_, event))| event)
    }
}
