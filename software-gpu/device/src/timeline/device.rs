//! One device of the simulation: its queues, its units, and what they share.

use std::collections::BTreeSet;

use super::grids::Grids;
use super::profile::Profile;
use super::queues::Queues;
use super::rates::DeviceMemory;
use super::transfers::Transfers;
use super::{OpId, Time};

/// The state of one device.
#[derive(Debug)]
pub(super) struct DeviceState {
    pub profile: Profile,
    pub queues: Queues,
    pub transfers: Transfers,
    pub grids: Grids,
    pub front_end: FrontEnd,
    pub changed: Changed,
    memory: DeviceMemory,
}

/// The rates to recompute at the end of an instant.
#[derive(Debug, Default)]
pub(super) struct Changed {
    pub room: bool,
    pub rates: bool,
}

/// Starts grids, most urgent first.
#[derive(Debug, Default)]
pub(super) struct FrontEnd {
    pub ready: BTreeSet<(i32, Time, OpId)>,
    pub resident: u32,
    free_at: Time,
    /// When it looks again, if it had to wait for `free_at`.
    pub wakes_at: Option<Time>,
}

/// What the front end can do at an instant.
pub(super) enum Front {
    /// Start this grid.
    Starts(OpId),
    /// Look again at that time.
    Wakes(Time),
    /// Nothing before something else happens.
    Rests,
}

impl DeviceState {
    pub fn new(profile: &Profile, connections: usize) -> Self {
        Self {
            profile: profile.clone(),
            queues: Queues::new(connections),
            transfers: Transfers::new(profile),
            grids: Grids::new(profile),
            front_end: FrontEnd::default(),
            changed: Changed::default(),
            memory: DeviceMemory::new(profile),
        }
    }

    /// The earliest end of an operation in progress.
    pub fn next_end(&self) -> Option<Time> {
        let ends = [self.transfers.next_end(), self.grids.next_end()];
        ends.into_iter().flatten().min()
    }

    /// The next grid that starts at `now`, if one does.
    pub fn start_grid(&mut self, now: Time) -> Front {
        let front_end = &mut self.front_end;
        let Some(&next) = front_end.ready.first() else {
            return Front::Rests;
        };
        if front_end.resident >= self.profile.device.max_resident_grids {
            return Front::Rests;
        }
        if front_end.free_at > now {
            if front_end.wakes_at.is_some() {
                return Front::Rests;
            }
            front_end.wakes_at = Some(front_end.free_at);
            return Front::Wakes(front_end.free_at);
        }
        front_end.ready.remove(&next);
        front_end.resident += 1;
        front_end.free_at = now + self.profile.kernels.start_interval_us.micros();
        Front::Starts(next.2)
    }

    /// Places blocks and sets rates, if anything has begun or ended.
    pub fn settle(&mut self, now: Time) {
        if std::mem::take(&mut self.changed.room) {
            self.grids.place(now);
            self.changed.rates = true;
        }
        if std::mem::take(&mut self.changed.rates) {
            self.memory
                .share_out(&mut self.transfers, &mut self.grids, now);
        }
    }
}
