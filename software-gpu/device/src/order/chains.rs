//! Chains: the totally ordered sequences that a vector clock has one place for.

use std::collections::VecDeque;

use super::clock::{Clock, Epoch};

/// Number of free chains that are tried when one is wanted.
const LOOKED_AT: usize = 8;

/// All chains. A stream or host thread owns one as long as it lives; nodes of graphs share the free ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Chains {
    chains: Vec<Chain>,
    /// Chains without an owner, tried in turn.
    free: VecDeque<usize>,
}

#[derive(Clone, Debug)]
struct Chain {
    last: u64,
    owned: bool,
}

impl Chains {
    /// Reuses a free chain whose steps all happen before `known`, so that appending to it adds no false edge, or begins a new one.
    /// The chain of the step `behind` is tried first.
    pub(super) fn share(&mut self, known: &Clock, behind: Option<Epoch>) -> usize {
        let behind = behind.filter(|step| {
            let chain = &self.chains[step.chain];
            !chain.owned && chain.last == step.position
        });
        if let Some(step) = behind {
            return step.chain;
        }
        let chain = self.take(known);
        self.free.push_back(chain);
        chain
    }

    /// A chain for an owner whose clock is `known` and that will [release](Self::release) it.
    pub(super) fn own(&mut self, known: &Clock) -> usize {
        let chain = self.take(known);
        self.chains[chain].owned = true;
        chain
    }

    /// Takes a chain out of the free ones, or makes one.
    fn take(&mut self, known: &Clock) -> usize {
        for _ in 0..LOOKED_AT.min(self.free.len()) {
            let Some(chain) = self.free.pop_front() else {
                break;
            };
            if known.of(chain) >= self.chains[chain].last {
                return chain;
            }
            self.free.push_back(chain);
        }
        self.chains.push(Chain {
            last: 0,
            owned: false,
        });
        self.chains.len() - 1
    }

    /// Its owner has ended. What still runs keeps its place in the chain.
    pub(super) fn release(&mut self, chain: usize) {
        if let Some(released) = self.chains.get_mut(chain) {
            released.owned = false;
            self.free.push_back(chain);
        }
    }

    /// The next step of a chain that [`share`](Self::share) or [`own`](Self::own) returned.
    pub(super) fn step(&mut self, chain: usize) -> Epoch {
        let last = &mut self.chains[chain].last;
        *last += 1;
        let position = *last;
        Epoch { chain, position }
    }

    /// How many places a clock has.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.chains.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_chain_is_continued_only_by_a_clock_that_includes_it() {
        let mut chains = Chains::default();
        let nothing = Clock::default();
        let chain = chains.own(&nothing);
        let first = chains.step(chain);
        let second = chains.step(chain);
        chains.release(chain);
        let mut partly = Clock::default();
        partly.learn(first);
        assert_ne!(chains.share(&partly, Some(first)), chain);
        let mut fully = Clock::default();
        fully.learn(second);
        assert_eq!(chains.own(&fully), chain);
        assert_ne!(chains.share(&fully, None), chain);
        assert_eq!(chains.step(chain).position, 3);
    }

    #[test]
    fn a_shared_chain_continues_after_its_last_step() {
        let mut chains = Chains::default();
        let mut known = Clock::default();
        let chain = chains.share(&known, None);
        let first = chains.step(chain);
        known.learn(first);
        assert_eq!(chains.share(&known, Some(first)), chain);
        let second = chains.step(chain);
        assert_ne!(chains.share(&known, Some(first)), chain);
        known.learn(second);
        assert_eq!(chains.share(&known, Some(second)), chain);
    }
}
