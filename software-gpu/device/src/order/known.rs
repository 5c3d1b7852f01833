//! What something comes after, as far as that is known when it is submitted, and what is still to be learned.
//!
//! Most order is known when an operation is submitted. Some is known only when it runs: a wait for a value comes after the
//! write that releases it, and a host function after whatever host threads have done by then, for they may have agreed
//! with it through a lock. What comes behind such an operation was submitted long before. So it notes whose knowledge it
//! still lacks, and gets it when it runs itself, which is later.

use std::collections::HashMap;

use super::clock::{Clock, Epoch};

/// What something comes after.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) clock: Clock,
    /// Of each chain the last step before that learns something when it runs.
    pub(super) late: Clock,
}

/// What operations have learned when they ran.
#[derive(Debug, Default)]
pub(super) struct Learned(HashMap<Epoch, Clock>);

impl Known {
    /// Everything that either comes after.
    pub(super) fn join(&mut self, other: &Self) {
        self.clock.join(&other.clock);
        self.late.join(&other.late);
    }

    /// As [`join`](Self::join) with what grows and was joined before, when it was `fed`: costs as much as it has grown.
    pub(super) fn follow(&mut self, other: &Self, fed: &mut Clock) {
        self.clock.join_since(&other.clock, fed);
        self.late.join(&other.late);
        *fed = other.clock.clone();
    }

    /// The step learns something when it runs, and this comes after it.
    pub(super) fn expect(&mut self, step: Epoch) {
        self.late.learn(step);
    }

    /// Takes over what has been learned by now.
    pub(super) fn settle(&mut self, learned: &Learned) {
        if self.late.is_empty() {
            return;
        }
        let mut rest = Clock::default();
        for step in self.late.steps() {
            match learned.0.get(&step) {
                Some(clock) => self.clock.join(clock),
                None => rest.learn(step),
            }
        }
        self.late = rest;
    }

    /// Whether nothing is left to be learned.
    pub(super) fn is_settled(&self) -> bool {
        self.late.is_empty()
    }
}

impl Learned {
    /// The step has run, and knows all this.
    pub(super) fn add(&mut self, step: Epoch, clock: Clock) {
        self.0.insert(step, clock);
    }

    /// Everybody has taken over what there was.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
