//! Sets the speed of everything that moves, after anything has begun or ended.
//!
//! The link first: copies over it are slow beside device memory, and what they take of it is subtracted. Then, for
//! cohorts, the pipes of the multiprocessors and the bandwidth of device memory, each shared by weighted max-min
//! fairness (see `sharing`) with resident warps as weights. A cohort runs at the speed of its slowest block.

use std::collections::BTreeMap;

use super::Time;
use super::demand::PIPES;
use super::grids::{Cohort, Grids};
use super::multiprocessors::CohortId;
use super::profile::Profile;
use super::sharing::{Bandwidth, Claim, max_min};
use super::transfers::Transfers;

/// The speed of each cohort: 1 when nothing holds it up.
type Speeds = BTreeMap<CohortId, f64>;

/// Device memory, as those who share it see it.
#[derive(Debug)]
pub(super) struct DeviceMemory {
    bandwidth: Bandwidth,
    /// The demand of one copy or memset, in bytes per picosecond.
    copy_demand: f64,
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
        let (speeds, copy_rates) = settle(grids, &copies, left);
        for (cohort, speed) in grids.cohorts.values_mut().zip(speeds.values()) {
            cohort.fluid.set_rate(speed / cohort.demand.picos, now);
        }
        let device_copies = transfers.moving.values_mut().filter_map(|transfer| {
            let traffic = transfer.route.device_traffic()?;
            Some((&mut transfer.fluid, traffic))
        });
        for ((fluid, traffic), rate) in device_copies.zip(copy_rates) {
            fluid.set_rate(rate / traffic, now);
        }
    }

    /// A copy within the device asks as much as a device full of threads.
    fn copy_claims(&self, transfers: &Transfers, grids: &Grids) -> Vec<Claim> {
        let claim = Claim {
            demand: self.copy_demand,
            weight: grids.sms.warps() as f64,
        };
        let copies = transfers
            .moving
            .values()
            .filter(|t| t.route.device_traffic().is_some());
        copies.map(|_| claim).collect()
    }
}

/// The speeds of all cohorts, and the traffic of the copies.
///
/// Pipes and memory limit each other's demand: what memory slows leaves issue slots to others, and the other way round.
/// Each is shared twice, so that what one leaves is used; the second round stays within both limits.
fn settle(grids: &Grids, copies: &[Claim], memory: Bandwidth) -> (Speeds, Vec<f64>) {
    let full: Speeds = grids.cohorts.keys().map(|id| (*id, 1.0)).collect();
    let crowded = crowded(grids);
    if crowded.is_empty() {
        return share_memory(grids, &full, copies, memory);
    }
    let issued = share_pipes(grids, &crowded, &full);
    let (served, _) = share_memory(grids, &issued, copies, memory);
    let wanted = issued
        .iter()
        .zip(served.values())
        .map(|((id, issued), served)| (*id, if served < issued { *served } else { 1.0 }))
        .collect();
    let issued = share_pipes(grids, &crowded, &wanted);
    share_memory(grids, &issued, copies, memory)
}

/// The multiprocessors on which a pipe may be asked for more than it has.
fn crowded(grids: &Grids) -> Vec<usize> {
    let load =
        |(id, blocks): &(CohortId, u32)| grids.cohorts[id].demand.peak() * f64::from(*blocks);
    let sms = grids.sms.list.iter().enumerate();
    sms.filter(|(_, sm)| sm.residents.iter().map(load).sum::<f64>() > 1.0)
        .map(|(index, _)| index)
        .collect()
}

/// Shares each pipe among the cohorts on its multiprocessor, none of which wants to run faster than `wanted`.
fn share_pipes(grids: &Grids, crowded: &[usize], wanted: &Speeds) -> Speeds {
    let mut speeds = wanted.clone();
    for &sm in crowded {
        let residents = &grids.sms.list[sm].residents;
        let here: Vec<(CohortId, f64, &Cohort)> = residents
            .iter()
            .map(|(id, blocks)| (*id, f64::from(*blocks), &grids.cohorts[id]))
            .collect();
        for pipe in 0..PIPES {
            let claim = |&(id, blocks, cohort): &(CohortId, f64, &Cohort)| Claim {
                demand: cohort.demand.pipes[pipe] * blocks * wanted[&id],
                weight: f64::from(cohort.warps_per_block) * blocks,
            };
            let claims: Vec<Claim> = here.iter().map(claim).collect();
            if claims.iter().map(|claim| claim.demand).sum::<f64>() <= 1.0 {
                continue;
            }
            for (((id, ..), claim), share) in here.iter().zip(&claims).zip(max_min(&claims, 1.0)) {
                if share < claim.demand {
                    let speed = wanted[id] * (share / claim.demand);
                    speeds.entry(*id).and_modify(|s| *s = s.min(speed));
                }
            }
        }
    }
    speeds
}

/// Shares device memory among the copies and the cohorts, none of which wants to run faster than `wanted`.
fn share_memory(
    grids: &Grids,
    wanted: &Speeds,
    copies: &[Claim],
    memory: Bandwidth,
) -> (Speeds, Vec<f64>) {
    let mut claims: Vec<Claim> = grids
        .cohorts
        .values()
        .zip(wanted.values())
        .map(|(cohort, speed)| Claim {
            demand: cohort.demand.bytes_per_pico * cohort.blocks() as f64 * speed,
            weight: (u64::from(cohort.warps_per_block) * cohort.blocks()) as f64,
        })
        .collect();
    claims.extend(copies);
    let demand = claims.iter().map(|claim| claim.demand).sum();
    let shares = max_min(&claims, memory.delivered(demand));
    let speeds = wanted
        .iter()
        .zip(&claims)
        .zip(&shares)
        .map(|(((id, wanted), claim), share)| {
            let slow_down = if *share < claim.demand {
                share / claim.demand
            } else {
                1.0
            };
            (*id, wanted * slow_down)
        });
    let speeds = speeds.collect();
    (speeds, shares[grids.cohorts.len()..].to_vec())
}
