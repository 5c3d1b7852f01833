//! The clock of an operation as known when it is submitted, with the part that becomes known only when earlier operations run.
//!
//! Most order is known when an operation is submitted. Some is known only when it runs: a wait for a value comes after the write that releases
//! it, and a host function after whatever host threads have done by then, for they may have agreed with it through a lock. Later operations were
//! submitted long before such an operation runs. So it records the clocks that it still lacks, and joins them when it runs itself, which is
//! later.
//!
//! A clock that includes a step includes the step's clock at submission, and the later growth of that clock as soon as it is known. So two
//! comparisons of one step each mostly show that one clock includes the other: a join then shares one of the two, however many chains there
//! are.

use std::collections::HashMap;

use super::clock::{Clock, Epoch};

/// What something comes after.
#[derive(Clone, Debug, Default)]
pub(super) struct Predecessors {
    clock: Clock,
    /// For each chain: the last earlier step whose clock grows when it runs.
    late: Clock,
    /// The step whose clock equals this one, if there is one: its clock at submission, and the part of its later growth that was
    /// joined.
    step: Option<Epoch>,
}

/// The growth of operations' clocks when they ran.
#[derive(Debug, Default)]
pub(super) struct Learned(HashMap<Epoch, Clock>);

impl Predecessors {
    /// All steps that it comes after.
    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Everything that happens before either of the two.
    pub(super) fn join(&mut self, other: &Self) {
        if !self.takes_over(other) {
            self.learn(&other.clock);
            self.late.join(&other.late);
        }
    }

    /// As [`join`](Self::join) with a clock of which the part `fed` was joined before: the cost is proportional to the growth
    /// since.
    pub(super) fn join_since<const N: usize>(&mut self, other: &Self, fed: [&Clock; N]) {
        if !self.takes_over(other) {
            self.learn_since(&other.clock, fed);
            self.late.join(&other.late);
        }
    }

    /// As [`join_since`](Self::join_since), and `fed` is what was joined.
    pub(super) fn follow(&mut self, other: &Self, fed: &mut Clock) {
        self.join_since(other, [fed]);
        *fed = other.clock.clone();
    }

    /// Comes after these steps too.
    pub(super) fn learn(&mut self, clock: &Clock) {
        self.clock.join(clock);
        self.step = None;
    }

    /// As [`learn`](Self::learn), for a clock of which the part `fed` was joined before.
    pub(super) fn learn_since<const N: usize>(&mut self, clock: &Clock, fed: [&Clock; N]) {
        if !fed.iter().any(|fed| clock.is_same(fed)) {
            self.clock.join_since(clock, fed);
            self.step = None;
        }
    }

    /// This step's clock when it ran.
    pub(super) fn of(step: Epoch, clock: Clock) -> Self {
        Self {
            clock,
            late: Clock::default(),
            step: Some(step),
        }
    }

    /// Whether this clock includes the other one completely, with everything that became known later.
    pub(super) fn is_known_to(&self, clock: &Clock) -> bool {
        match self.step {
            Some(step) => clock.knows(step),
            None => clock.knows_all(&self.clock),
        }
    }

    /// Becomes the clock of this step, which is new and includes all the rest.
    pub(super) fn step(&mut self, step: Epoch) {
        self.clock.learn(step);
        self.step = Some(step);
    }

    /// Joins the other if one of the two includes the other, as far as one step shows.
    fn takes_over(&mut self, other: &Self) -> bool {
        let knows = |clock: &Clock, known: &Self| match known.step {
            Some(step) => clock.knows(step),
            None => known.clock.is_empty(),
        };
        if knows(&self.clock, other) {
            return true;
        }
        let grows = knows(&other.clock, self);
        if grows {
            *self = other.clone();
        }
        grows
    }

    /// The step's clock grows when it runs, and this happens after it.
    pub(super) fn expect(&mut self, step: Epoch) {
        self.late.learn(step);
    }

    /// Joins the clocks that are known by now.
    pub(super) fn settle(&mut self, learned: &Learned) {
        if self.late.is_empty() {
            return;
        }
        let late = std::mem::take(&mut self.late);
        // The growth of successive steps is mostly the same: only the difference from the step before is new.
        let mut before = &Clock::default();
        for step in late.steps() {
            match learned.0.get(&step) {
                Some(clock) => {
                    self.clock.join_since(clock, [before]);
                    before = clock;
                }
                None => self.late.learn(step),
            }
        }
    }

    /// Whether no further growth of the clock is possible.
    pub(super) fn is_settled(&self) -> bool {
        self.late.is_empty()
    }
}

impl Learned {
    /// The step has run with this clock.
    pub(super) fn add(&mut self, step: Epoch, clock: Clock) {
        self.0.insert(step, clock);
    }

    /// All clocks have joined the present growth.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(chain: usize, position: u64) -> Epoch {
        Epoch { chain, position }
    }

    fn known(steps: &[Epoch]) -> Predecessors {
        let mut known = Predecessors::default();
        steps.iter().for_each(|step| known.step(*step));
        known
    }

    #[test]
    fn what_was_learned_since_a_step_is_not_what_the_step_knew() {
        let first = known(&[epoch(0, 1)]);
        let mut behind = first.clone();
        behind.step(epoch(1, 1));
        let other = known(&[epoch(2, 1)]);
        let grown: [fn(&mut Predecessors, &Predecessors); 3] = [
            |known, other| known.learn(other.clock()),
            |known, other| known.learn_since(other.clock(), [&Clock::default()]),
            |known, other| known.join(other),
        ];
        for grow in grown {
            let mut grown = first.clone();
            grow(&mut grown, &other);
            let (mut left, mut right) = (behind.clone(), grown.clone());
            left.join(&grown);
            right.join(&behind);
            let all = known(&[epoch(0, 1), epoch(1, 1), epoch(2, 1)]);
            assert_eq!(left.clock(), all.clock());
            assert_eq!(right.clock(), all.clock());
        }
    }

    #[test]
    fn who_takes_over_a_clock_takes_over_what_is_still_to_be_learned() {
        let mut earlier = known(&[epoch(0, 1)]);
        earlier.expect(epoch(0, 1));
        let mut later = earlier.clone();
        later.step(epoch(1, 1));
        later.expect(epoch(1, 1));
        let mut learned = Learned::default();
        learned.add(epoch(0, 1), known(&[epoch(2, 1)]).clock().clone());
        learned.add(epoch(1, 1), known(&[epoch(3, 1)]).clock().clone());
        earlier.join(&later);
        earlier.settle(&learned);
        assert!(earlier.clock().knows(epoch(2, 1)) && earlier.clock().knows(epoch(3, 1)));
    }
}
