//! The blocks of a grid that have not been placed yet, in order, equal neighbours merged.

use std::collections::VecDeque;

use super::demand::{Demand, Rates};
use super::work::KernelCost;

/// At most this many kinds of blocks are distinguished among those placed at one instant.
const KINDS: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Blocks(VecDeque<(u64, Demand)>);

impl Blocks {
    /// `count` blocks of `warps` that cost what `cost` says.
    pub fn new(count: u64, warps: u32, cost: &KernelCost, rates: &Rates) -> Self {
        let mut left = count;
        let mut runs = VecDeque::with_capacity(cost.runs.len().max(1));
        for (blocks, block) in &cost.runs {
            let blocks = left.min(*blocks);
            if blocks > 0 {
                runs.push_back((blocks, rates.demand(block, warps)));
                left -= blocks;
            }
        }
        if left > 0 {
            match runs.back_mut() {
                Some((blocks, _)) => *blocks += left,
                None => runs.push_back((left, rates.demand(&Default::default(), warps))),
            }
        }
        Self(runs)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next run of equal blocks.
    pub fn front(&self) -> Option<&(u64, Demand)> {
        self.0.front()
    }

    /// Takes up to `limit` blocks of the next run.
    pub fn take(&mut self, limit: u64) -> Option<(u64, Demand)> {
        let (run, demand) = self.0.front_mut()?;
        let taken = limit.min(*run);
        *run -= taken;
        let demand = demand.clone();
        if self.0.front().is_some_and(|(run, _)| *run == 0) {
            self.0.pop_front();
        }
        Some((taken, demand))
    }

    /// Puts blocks back in front.
    pub fn give_back(&mut self, count: u64, demand: &Demand) {
        match self.0.front_mut() {
            Some((run, front)) if front == demand => *run += count,
            _ => self.0.push_front((count, demand.clone())),
        }
    }

    /// Makes sure that the next `window` blocks are of few kinds: if they are not, they are sorted by length, cut into
    /// groups of about equal size, and each takes as long as its longest and asks for the mean of its group.
    pub fn simplify(&mut self, window: u64) {
        let mut counted = 0;
        let runs = self
            .0
            .iter()
            .take_while(|(run, _)| {
                counted += run;
                counted <= window
            })
            .count();
        // Few kinds: the blocks keep their order and their exact costs.
        if runs <= KINDS {
            return;
        }
        let mut runs: Vec<(u64, Demand)> = self.0.drain(..runs).collect();
        runs.sort_by(|(_, a), (_, b)| b.picos.total_cmp(&a.picos));
        let total: u64 = runs.iter().map(|(run, _)| run).sum();
        let mut groups = Vec::with_capacity(KINDS);
        let mut group: Vec<(u64, Demand)> = Vec::new();
        let mut seen = 0;
        for run in runs {
            seen += run.0;
            group.push(run);
            if seen * KINDS as u64 >= total * (groups.len() as u64 + 1) {
                groups.push(merge(&group));
                group.clear();
            }
        }
        for group in groups.into_iter().rev() {
            self.0.push_front(group);
        }
    }
}

/// One kind of blocks for several, the longest of which is first.
fn merge(group: &[(u64, Demand)]) -> (u64, Demand) {
    let count: u64 = group.iter().map(|(run, _)| run).sum();
    let mut merged = group[0].1.clone();
    merged.pipes = Default::default();
    merged.bytes_per_pico = 0.0;
    merged.cache = 0.0;
    merged.exposed_per_pico = 0.0;
    for (run, demand) in group {
        // The merged blocks take as long as the longest. A weight by length keeps the total of each unit's work.
        let share = *run as f64 / count as f64 * (demand.picos / merged.picos);
        for (pipe, part) in merged.pipes.iter_mut().zip(demand.pipes) {
            *pipe += part * share;
        }
        merged.bytes_per_pico += demand.bytes_per_pico * share;
        merged.cache += demand.cache * share;
        merged.exposed_per_pico += demand.exposed_per_pico * share;
    }
    merged.peak = merged.pipes.iter().copied().fold(0.0, f64::max);
    (count, merged)
}
