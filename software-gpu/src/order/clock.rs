//! Vector clocks.

/// One step of one chain: `chain`'s steps are totally ordered, and `position` counts them from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Epoch {
    pub(super) chain: usize,
    pub(super) position: u64,
}

/// How much of each chain came before. Chains beyond the end are at 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock {
    positions: Vec<u64>,
}

impl Clock {
    /// The last step of `chain` that came before, or 0.
    pub(super) fn of(&self, chain: usize) -> u64 {
        self.positions.get(chain).copied().unwrap_or(0)
    }

    /// Whether this step came before, or is this clock's own.
    pub(super) fn knows(&self, epoch: Epoch) -> bool {
        self.of(epoch.chain) >= epoch.position
    }

    /// Everything that either clock knows.
    pub(super) fn join(&mut self, other: &Self) {
        if self.positions.len() < other.positions.len() {
            self.positions.resize(other.positions.len(), 0);
        }
        for (own, other) in self.positions.iter_mut().zip(&other.positions) {
            *own = (*own).max(*other);
        }
    }

    /// Only what both clocks know.
    pub(super) fn meet(&mut self, other: &Self) {
        self.positions.truncate(other.positions.len());
        for (own, other) in self.positions.iter_mut().zip(&other.positions) {
            *own = (*own).min(*other);
        }
    }

    /// Adds a step.
    pub(super) fn learn(&mut self, epoch: Epoch) {
        if self.positions.len() <= epoch.chain {
            self.positions.resize(epoch.chain + 1, 0);
        }
        let own = &mut self.positions[epoch.chain];
        *own = (*own).max(epoch.position);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(positions: &[u64]) -> Clock {
        let positions = positions.to_vec();
        Clock { positions }
    }

    #[test]
    fn a_join_knows_what_either_knows_and_a_meet_what_both_know() {
        let (a, b) = (clock(&[3, 1]), clock(&[2, 4, 5]));
        let (mut join, mut meet) = (a.clone(), a);
        join.join(&b);
        meet.meet(&b);
        assert_eq!(join, clock(&[3, 4, 5]));
        assert_eq!(meet, clock(&[2, 1]));
    }

    #[test]
    fn a_step_is_known_with_all_before_it() {
        let mut clock = Clock::default();
        let epoch = |chain, position| Epoch { chain, position };
        clock.learn(epoch(2, 7));
        assert!(clock.knows(epoch(2, 7)) && clock.knows(epoch(2, 6)));
        assert!(
            !clock.knows(epoch(2, 8)) && !clock.knows(epoch(0, 1)) && !clock.knows(epoch(9, 1))
        );
        clock.learn(epoch(2, 3));
        assert_eq!(clock.of(2), 7);
    }
}
