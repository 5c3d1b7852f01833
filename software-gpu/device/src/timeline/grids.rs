//! Grids on the device: their blocks are placed in cohorts, which progress as fluids.
//!
//! A cohort is a number of equal blocks of one grid, placed at one instant: a wave. The grid that is most urgent, then
//! the one that started first, places all of its blocks; only then does the next one. Running blocks are
//! never pre-empted.
//!
//! While a grid has more blocks than fit, each of its waves is followed by another in the same seats. So its cohorts are
//! made to stand for several waves at once. As soon as a cohort ends or another grid arrives, the waves that have not
//! begun are given back and dealt out anew: the short cut changes no result, only the work that it takes.

use std::collections::BTreeMap;

use super::blocks::Blocks;
use super::demand::{Demand, Rates};
use super::fluid::Fluid;
use super::multiprocessors::{CohortId, Footprint, Multiprocessors, Seats};
use super::profile::Profile;
use super::work::KernelCost;
use super::{OpId, Time};

/// The order in which grids place blocks: by urgency (low numbers first), then by start.
type Rank = (i32, u64);

#[derive(Debug)]
struct RunningGrid {
    rank: Rank,
    footprint: Footprint,
    blocks: Blocks,
    /// Cohorts under way.
    cohorts: u32,
}

/// Equal blocks of one grid, placed together.
#[derive(Debug)]
pub(super) struct Cohort {
    grid: OpId,
    /// In each wave.
    blocks: u64,
    waves: u64,
    seats: Seats,
    /// Blocks on the multiprocessor that has the most of them.
    most_on_one: u32,
    /// Multiprocessors that have some.
    pub multiprocessors: u32,
    pub demand: Demand,
    /// Waves left.
    pub fluid: Fluid,
    pub warps_per_block: u32,
}

impl Cohort {
    /// Blocks that are resident.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The highest demand of these blocks on a multiprocessor's busiest pipe.
    pub fn peak_load(&self) -> f64 {
        self.demand.peak * f64::from(self.most_on_one)
    }
}

#[derive(Debug)]
pub(super) struct Grids {
    rates: Rates,
    pub sms: Multiprocessors,
    resident: BTreeMap<OpId, RunningGrid>,
    /// Grids with blocks to place.
    waiting: BTreeMap<Rank, OpId>,
    started: u64,
    pub cohorts: BTreeMap<CohortId, Cohort>,
    next_cohort: u64,
    /// The cohorts that stand for several waves.
    collapsed: Vec<CohortId>,
}

impl Grids {
    pub fn new(profile: &Profile) -> Self {
        Self {
            rates: Rates::new(profile),
            sms: Multiprocessors::new(profile),
            resident: BTreeMap::new(),
            waiting: BTreeMap::new(),
            started: 0,
            cohorts: BTreeMap::new(),
            next_cohort: 0,
            collapsed: Vec::new(),
        }
    }

    /// Takes a grid in; its blocks wait for [`Grids::release`].
    pub fn add(
        &mut self,
        op: OpId,
        priority: i32,
        footprint: Footprint,
        blocks: u64,
        cost: &KernelCost,
    ) {
        let grid = RunningGrid {
            rank: (priority, self.started),
            footprint,
            blocks: Blocks::new(blocks, footprint.warps, cost, &self.rates),
            cohorts: 0,
        };
        self.started += 1;
        self.resident.insert(op, grid);
    }

    /// Lets the grid's blocks be placed. Returns whether it has no block.
    pub fn release(&mut self, op: OpId) -> bool {
        match self.resident.get(&op) {
            Some(grid) if !grid.blocks.is_empty() => {
                self.waiting.insert(grid.rank, op);
                false
            }
            _ => {
                self.resident.remove(&op);
                true
            }
        }
    }

    pub fn next_end(&self) -> Option<Time> {
        self.cohorts.values().map(|cohort| cohort.fluid.end()).min()
    }

    /// Removes the cohorts that have ended at `now`. Returns whether there were any, and adds the grids whose last
    /// blocks they were to `over`.
    pub fn take_ended(&mut self, now: Time, over: &mut Vec<OpId>) -> bool {
        let ended: Vec<CohortId> = self
            .cohorts
            .iter()
            .filter(|(_, cohort)| cohort.fluid.end() <= now)
            .map(|(id, _)| *id)
            .collect();
        for id in &ended {
            self.retire(*id, over);
        }
        !ended.is_empty()
    }

    fn retire(&mut self, id: CohortId, over: &mut Vec<OpId>) {
        let Some(cohort) = self.cohorts.remove(&id) else {
            return;
        };
        let Some(grid) = self.resident.get_mut(&cohort.grid) else {
            return;
        };
        self.sms.release(id, &grid.footprint, &cohort.seats);
        grid.cohorts -= 1;
        if grid.cohorts == 0 && grid.blocks.is_empty() {
            self.resident.remove(&cohort.grid);
            over.push(cohort.grid);
        }
    }

    /// Places all the blocks for which there is room.
    pub fn place(&mut self, now: Time) {
        // Waves dealt out in advance may now belong to a grid of higher priority, or to other seats.
        self.give_back_waves(now);
        while let Some((&rank, &op)) = self.waiting.first_key_value() {
            // The first grid in line has no room: grids behind it wait as well, even if their smaller blocks would fit.
            if !self.place_cohort(op, now) {
                self.collapse(op, now);
                return;
            }
            if self
                .resident
                .get(&op)
                .is_none_or(|grid| grid.blocks.is_empty())
            {
                self.waiting.remove(&rank);
            }
        }
    }

    /// Places blocks of the next run of the grid's, if there is room for one. Returns whether it did.
    fn place_cohort(&mut self, op: OpId, now: Time) -> bool {
        let Some(grid) = self.resident.get_mut(&op) else {
            return false;
        };
        let room = self.sms.room(&grid.footprint);
        if room == 0 {
            return false;
        }
        grid.blocks.simplify(room);
        let Some((blocks, demand)) = grid.blocks.take(room) else {
            return false;
        };
        grid.cohorts += 1;
        let id = CohortId(self.next_cohort);
        self.next_cohort += 1;
        let seats = self.sms.place(id, &grid.footprint, blocks);
        let cohort = Cohort {
            grid: op,
            blocks,
            waves: 1,
            most_on_one: seats.iter().map(|(_, n)| *n).max().unwrap_or(0),
            multiprocessors: seats.len() as u32,
            seats,
            demand,
            fluid: Fluid::new(1.0, now),
            warps_per_block: grid.footprint.warps,
        };
        self.cohorts.insert(id, cohort);
        true
    }

    /// Deals waves of the grid's next run out to its cohorts of that kind, all but the last of each.
    fn collapse(&mut self, op: OpId, now: Time) {
        let Some(grid) = self.resident.get_mut(&op) else {
            return;
        };
        let Some((run, demand)) = grid.blocks.front() else {
            return;
        };
        let mut equal: Vec<(CohortId, &mut Cohort)> = self
            .cohorts
            .iter_mut()
            .filter(|(_, cohort)| cohort.grid == op && cohort.demand == *demand)
            .map(|(id, cohort)| (*id, cohort))
            .collect();
        let wave: u64 = equal.iter().map(|(_, cohort)| cohort.blocks).sum();
        // A block is left over, so that the grid stays first in line, as it would wave by wave.
        let waves = (run - 1).checked_div(wave).unwrap_or(0);
        if waves == 0 {
            return;
        }
        for (id, cohort) in &mut equal {
            cohort.waves += waves;
            cohort.fluid.lengthen(waves as f64, now);
            self.collapsed.push(*id);
        }
        grid.blocks.take(waves * wave);
    }

    /// Returns the waves that have not begun to their grids.
    fn give_back_waves(&mut self, now: Time) {
        for id in std::mem::take(&mut self.collapsed) {
            let Some(cohort) = self.cohorts.get_mut(&id) else {
                continue;
            };
            let Some(grid) = self.resident.get_mut(&cohort.grid) else {
                continue;
            };
            // The wave in progress counts as begun; it stays.
            let not_begun = (cohort.fluid.left(now).ceil() as u64)
                .saturating_sub(1)
                .min(cohort.waves - 1);
            if not_begun > 0 {
                cohort.waves -= not_begun;
                cohort.fluid.lengthen(-(not_begun as f64), now);
                grid.blocks
                    .give_back(not_begun * cohort.blocks, &cohort.demand);
            }
        }
    }
}
