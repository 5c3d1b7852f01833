//! Sets the speed of everything that moves, after anything has begun or ended.
//!
//! The link first: copies over it are slow beside device memory, and what they take of it is subtracted. Then, for
//! cohorts, the pipes of the multiprocessors and the bandwidth of device memory, each shared by weighted max-min
//! fairness (see `sharing`) with resident warps as weights. A cohort runs at the speed of its slowest block.

use std::collections::{BTreeMap, BTreeSet};

use super::Time;
use super::demand::{PIPES, PORT};
use super::grids::{Cohort, Grids};
use super::multiprocessors::CohortId;
use super::profile::Profile;
use super::sharing::{Bandwidth, Claim, max_min};
use super::transfers::Transfers;
use super::work::Coupling;

/// The speed of each cohort, in their order: 1 is full speed.
type Speeds = Vec<f64>;

/// The blocks on one multiprocessor.
type Residents = [(CohortId, u32)];

/// Device memory, as those who share it see it.
#[derive(Debug)]
pub(super) struct DeviceMemory {
    bandwidth: Bandwidth,
    /// The demand of one copy or memset, in bytes per picosecond.
    copy_demand: f64,
    burst: f64,
}

impl DeviceMemory {
    pub fn new(profile: &Profile) -> Self {
        let limit = profile.memory.bandwidth_gb_per_s.bytes_per_pico();
        Self {
            bandwidth: Bandwidth {
                limit,
                queueing: profile.memory.queueing.value,
            },
            copy_demand: limit * profile.memory.copy_demand.value,
            burst: profile.memory.burst.value,
        }
    }

    /// Sets all rates anew.
    pub fn share_out(&self, transfers: &mut Transfers, grids: &mut Grids, now: Time) {
        let taken = transfers.share_link(now);
        let left = Bandwidth {
            limit: (self.bandwidth.limit - taken).max(self.bandwidth.limit * 0.01),
            ..self.bandwidth
        };
        let copies = self.copy_claims(transfers, grids);
        let paces = paces(grids, left.limit, self.burst);
        let (mut speeds, copy_rates) = settle(grids, &copies, left, &paces);
        share_cache(grids, &mut speeds);
        for (cohort, speed) in grids.cohorts.values_mut().zip(speeds) {
            cohort.fluid.set_rate(speed / cohort.demand.picos, now);
        }
        transfers.share_device(&copy_rates, now);
    }

    /// A copy within the device has the demand of a device full of threads.
    fn copy_claims(&self, transfers: &Transfers, grids: &Grids) -> Vec<Claim> {
        let claim = Claim {
            demand: self.copy_demand,
            weight: grids.sms.warps() as f64,
        };
        let copies = transfers
            .moving
            .values()
            .filter(|t| t.route.is_within_device());
        copies.map(|_| claim).collect()
    }
}

/// Slows cohorts down whose traffic is more than the L2 cache delivers.
fn share_cache(grids: &Grids, speeds: &mut [f64]) {
    let share = |cohort: &Cohort| cohort.demand.cache * cohort.blocks() as f64;
    let cohorts = grids.cohorts.values().zip(&*speeds);
    let asked: f64 = cohorts.map(|(cohort, speed)| share(cohort) * speed).sum();
    // All cohorts are slowed by the same factor: the cache divides its rate in proportion to their traffic.
    if asked > 1.0 {
        for (cohort, speed) in grids.cohorts.values().zip(speeds) {
            if cohort.demand.cache > 0.0 {
                *speed /= asked;
            }
        }
    }
}

/// The speeds of all cohorts, and the traffic of the copies.
///
/// Pipes and memory limit each other's demand: what memory slows leaves issue slots to others, and the other way round.
/// Each is shared twice, so that what one leaves is used; the second round stays within both limits.
///
/// No cohort runs faster than its pace.
fn settle(grids: &Grids, copies: &[Claim], memory: Bandwidth, paces: &[f64]) -> (Speeds, Vec<f64>) {
    let crowded = crowded(grids);
    if crowded.is_empty() {
        return share_memory(grids, paces, copies, memory);
    }
    // Round 1: each limit alone. Round 2: a cohort that memory slows demands less of the pipes, and the others get the rest.
    let issued = share_pipes(grids, &crowded, paces);
    let (served, _) = share_memory(grids, &issued, copies, memory);
    let held_by_memory = issued
        .iter()
        .zip(&served)
        .map(|(issued, served)| served < issued);
    let wanted: Speeds = held_by_memory
        .zip(served.iter().zip(paces))
        .map(|(held, (served, pace))| if held { *served } else { *pace })
        .collect();
    let issued = share_pipes(grids, &crowded, &wanted);
    share_memory(grids, &issued, copies, memory)
}

/// How fast each cohort can run because of how its own warps, and those beside it, depend on each other.
///
/// The loads C of the busiest pipe and F of what fetches data (device memory or the L2 cache), at full speed, take
/// (C^4 + F^4)^(1/4) [together].
///
/// - *Phases* that barriers keep apart: all blocks that were placed together store at the same time, and what each loads then waits
///   for what all of them have stored. Several such blocks on a multiprocessor use each other's pauses, but not all of them: with C and F
///   of device memory together T, they take sqrt(1 + T^2) times as long as one alone.
/// - *Data handed over* by asynchronous copies or named barriers: pipe and memory work beside each other. Plain loads wait for what the
///   blocks of the whole device have stored here, too, which come one after another; but while they do, the pipe is busy.
///
/// Both laws are fitted to the kernels of `multi_stream_pipeline --part warp-specialised` on an H200 and on an H100.
fn paces(grids: &Grids, memory: f64, burst: f64) -> Speeds {
    // The usual case: no kernel couples its warps by barriers or hand-overs.
    let is_free = |cohort: &Cohort| cohort.demand.coupling == Coupling::Free;
    let mut paces = vec![1.0; grids.cohorts.len()];
    if grids.cohorts.values().all(is_free) {
        return paces;
    }
    let draw = |cohort: &Cohort| cohort.demand.bytes_per_pico * cohort.blocks() as f64;
    let on_memory = grids.cohorts.values().map(draw).sum::<f64>() / memory;
    let of_cache = |cohort: &Cohort| cohort.demand.cache * cohort.blocks() as f64;
    let on_cache = grids.cohorts.values().map(of_cache).sum::<f64>();
    // By what `blocks` of its blocks have stored.
    let held_up = |cohort: &Cohort, blocks: u64| {
        burst * cohort.demand.exposed_per_pico * blocks as f64 / memory
    };
    let loads = loads(grids);
    for (pace, (id, cohort)) in paces.iter_mut().zip(&grids.cohorts) {
        let (on_pipe, blocks) = loads.get(id).copied().unwrap_or_default();
        *pace = match cohort.demand.coupling {
            Coupling::Free => 1.0,
            Coupling::Handed => {
                let fetching = on_memory.max(on_cache);
                let waiting = match held_up(cohort, cohort.blocks()) {
                    0.0 => 0.0,
                    held_up => together(cohort.demand.waiting + held_up, fetching),
                };
                1.0 / together(on_pipe, fetching).max(waiting).max(1.0)
            }
            Coupling::Phased => {
                let alone = 1.0 + held_up(cohort, cohort.multiprocessors.into());
                let beside = match blocks {
                    0 | 1 => 0.0,
                    _ => together(on_pipe, on_memory) / alone,
                };
                1.0 / (alone * (1.0 + beside * beside).sqrt())
            }
        };
    }
    paces
}

/// For each cohort what all blocks beside it and itself ask of the busiest pipe at full speed, and how many they are, on the
/// multiprocessor where that is most. The port to the memory system is no such pipe: it works when memory does.
fn loads(grids: &Grids) -> BTreeMap<CohortId, (f64, u32)> {
    let mixtures: BTreeSet<&Residents> = grids
        .sms
        .list
        .iter()
        .map(|sm| sm.residents.as_slice())
        .collect();
    let mut loads: BTreeMap<CohortId, (f64, u32)> = BTreeMap::new();
    for residents in mixtures {
        let asked = |pipe: usize| -> f64 {
            let parts = residents.iter();
            let part = |(id, blocks): &(CohortId, u32)| {
                grids.cohorts[id].demand.pipes[pipe] * f64::from(*blocks)
            };
            parts.map(part).sum()
        };
        let pipes = (0..PIPES).filter(|pipe| *pipe != PORT);
        let busiest = pipes.map(asked).fold(0.0, f64::max);
        let blocks = residents.iter().map(|(_, blocks)| blocks).sum();
        for (id, _) in residents {
            let load = loads.entry(*id).or_default();
            *load = (load.0.max(busiest), load.1.max(blocks));
        }
    }
    loads
}

/// What two take together that get in each other's way only where both are nearly busy: the fourth root of the sum of their fourth
/// powers, by operations that give the same bits everywhere.
fn together(one: f64, other: f64) -> f64 {
    let (one, other) = (one * one, other * other);
    (one * one + other * other).sqrt().sqrt()
}

/// The mixtures of blocks on multiprocessors where the demand on a pipe may exceed its rate, each once.
fn crowded(grids: &Grids) -> BTreeSet<&Residents> {
    // A cheap upper bound first: the sum of the highest load of each cohort on a multiprocessor.
    let most: f64 = grids.cohorts.values().map(Cohort::peak_load).sum();
    if most <= 1.0 {
        return BTreeSet::new();
    }
    let mixtures: BTreeSet<&Residents> = grids
        .sms
        .list
        .iter()
        .map(|sm| sm.residents.as_slice())
        .collect();
    let load = |(id, blocks): &(CohortId, u32)| grids.cohorts[id].demand.peak * f64::from(*blocks);
    let is_crowded = |residents: &&Residents| residents.iter().map(load).sum::<f64>() > 1.0;
    mixtures.into_iter().filter(is_crowded).collect()
}

/// Shares each pipe among the cohorts on its multiprocessor, none of which wants to run faster than `wanted`.
fn share_pipes(grids: &Grids, crowded: &BTreeSet<&Residents>, wanted: &[f64]) -> Speeds {
    let index: BTreeMap<CohortId, usize> = grids.cohorts.keys().copied().zip(0..).collect();
    let mut speeds = wanted.to_vec();
    for residents in crowded {
        for pipe in 0..PIPES {
            let claim = |(id, blocks): &(CohortId, u32)| {
                let cohort = &grids.cohorts[id];
                Claim {
                    demand: cohort.demand.pipes[pipe] * f64::from(*blocks) * wanted[index[id]],
                    weight: f64::from(cohort.warps_per_block) * f64::from(*blocks),
                }
            };
            let claims: Vec<Claim> = residents.iter().map(claim).collect();
            if claims.iter().map(|claim| claim.demand).sum::<f64>() <= 1.0 {
                continue;
            }
            for (((id, _), claim), share) in
                residents.iter().zip(&claims).zip(max_min(&claims, 1.0))
            {
                // The pipe with the smallest share determines the speed.
                if share < claim.demand {
                    let i = index[id];
                    speeds[i] = speeds[i].min(wanted[i] * (share / claim.demand));
                }
            }
        }
    }
    speeds
}

/// Shares device memory among the copies and the cohorts, none of which wants to run faster than `wanted`.
fn share_memory(
    grids: &Grids,
    wanted: &[f64],
    copies: &[Claim],
    memory: Bandwidth,
) -> (Speeds, Vec<f64>) {
    let at_full_speed = grids.cohorts.values().map(|cohort| Claim {
        demand: cohort.demand.bytes_per_pico * cohort.blocks() as f64,
        weight: (u64::from(cohort.warps_per_block) * cohort.blocks()) as f64,
    });
    let mut claims: Vec<Claim> = at_full_speed.chain(copies.iter().copied()).collect();
    let shares = wanted.iter().copied().chain(copies.iter().map(|_| 1.0));
    let demands: Vec<(f64, f64)> = claims
        .iter()
        .map(|claim| claim.demand)
        .zip(shares)
        .collect();
    // Fairness applies to the demand that is left after the pipes; latency under load depends on both figures.
    for (claim, (demand, share)) in claims.iter_mut().zip(&demands) {
        claim.demand = demand * share;
    }
    let shares = max_min(&claims, memory.delivered(&demands));
    let slow_down = |(claim, share): (&Claim, &f64)| {
        if *share < claim.demand {
            share / claim.demand
        } else {
            1.0
        }
    };
    let slow_downs = claims.iter().zip(&shares).map(slow_down);
    let speeds = wanted
        .iter()
        .zip(slow_downs)
        .map(|(wanted, slow_down)| wanted * slow_down);
    (speeds.collect(), shares[wanted.len()..].to_vec())
}
