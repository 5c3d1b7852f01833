//! Chains: the totally ordered sequences that a vector clock has one place for.

use super::clock::{Clock, Epoch};

/// All chains. A stream or host thread owns one as long as it lives; nodes of graphs share those that nobody owns.
#[derive(Clone, Debug, Default)]
pub(super) struct Chains {
    chains: Vec<Chain>,
}

#[derive(Clone, Debug)]
struct Chain {
    last: u64,
    owned: bool,
}

impl Chains {
    /// A chain that nobody owns and all of whose steps are in `known`: continuing it adds no order that is not there.
    /// Without one, a new chain.
    pub(super) fn find(&mut self, known: &Clock) -> usize {
        let free = |(index, chain): (usize, &Chain)| !chain.owned && known.of(index) >= chain.last;
        if let Some(found) = self.chains.iter().enumerate().position(free) {
            return found;
        }
        self.chains.push(Chain {
            last: 0,
            owned: false,
        });
        self.chains.len() - 1
    }

    /// As [`find`](Self::find), for an owner that will [release](Self::release) it.
    pub(super) fn own(&mut self, known: &Clock) -> usize {
        let chain = self.find(known);
        self.chains[chain].owned = true;
        chain
    }

    /// Its owner is gone. What still runs keeps its place in the chain.
    pub(super) fn release(&mut self, chain: usize) {
        if let Some(chain) = self.chains.get_mut(chain) {
            chain.owned = false;
        }
    }

    /// The next step of a chain that [`find`](Self::find) or [`own`](Self::own) returned.
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
    fn a_released_chain_is_continued_only_by_who_knows_all_of_it() {
        let mut chains = Chains::default();
        let nothing = Clock::default();
        let chain = chains.own(&nothing);
        let first = chains.step(chain);
        let second = chains.step(chain);
        chains.release(chain);
        let mut partly = Clock::default();
        partly.learn(first);
        assert_ne!(chains.find(&partly), chain);
        let mut fully = Clock::default();
        fully.learn(second);
        assert_eq!(chains.own(&fully), chain);
        assert_ne!(chains.find(&fully), chain);
        assert_eq!(chains.step(chain).position, 3);
    }
}
