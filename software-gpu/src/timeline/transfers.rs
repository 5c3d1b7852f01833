//! Copy engines, memsets, and the bytes they have under way.
//!
//! There is one engine per direction. Each serves the copies that are ready in the order in which they became so: it
//! sets a copy up, then moves its bytes. Memsets are small kernels of the driver's and run side by side; like copies
//! within the device they draw on device memory.

use std::collections::{BTreeMap, BTreeSet};

use super::fluid::Fluid;
use super::profile::{Copies, Profile};
use super::{CopyKind, OpId, Time};

/// What bytes under way are limited by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// A copy engine's.
    Copy { kind: CopyKind, pageable: bool },
    /// A memset's.
    Set,
}

impl Route {
    /// Bytes of traffic in device memory for each byte moved, when that is what limits.
    pub fn device_traffic(self) -> Option<f64> {
        match self {
            Self::Copy {
                kind: CopyKind::DeviceToDevice,
                ..
            } => Some(2.0),
            Self::Set => Some(1.0),
            Self::Copy { .. } => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Transfer {
    pub route: Route,
    pub fluid: Fluid,
}

#[derive(Debug, Default)]
struct Engine {
    /// By the time at which they became ready.
    ready: BTreeSet<(Time, OpId)>,
    busy: bool,
}

#[derive(Debug)]
pub(super) struct Transfers {
    engines: [Engine; 4],
    /// Bytes under way.
    pub moving: BTreeMap<OpId, Transfer>,
    rates: Copies,
    engine_setup: Time,
    device_setup: Time,
}

impl Transfers {
    pub fn new(profile: &Profile) -> Self {
        Self {
            engines: Default::default(),
            moving: BTreeMap::new(),
            rates: profile.copies.clone(),
            engine_setup: profile.copies.engine_setup_us.micros(),
            device_setup: profile.memory.copy_setup_us.micros(),
        }
    }

    /// Lines a copy up at its engine.
    pub fn enqueue(&mut self, kind: CopyKind, ready: Time, op: OpId) {
        self.engines[kind as usize].ready.insert((ready, op));
    }

    /// The next copy that an idle engine takes up.
    pub fn start_one(&mut self) -> Option<OpId> {
        let engine = self
            .engines
            .iter_mut()
            .find(|e| !e.busy && !e.ready.is_empty())?;
        engine.busy = true;
        engine.ready.pop_first().map(|(_, op)| op)
    }

    /// How long `route` takes before its first byte moves.
    pub fn setup(&self, route: Route) -> Time {
        match route.device_traffic() {
            Some(_) => self.device_setup,
            None => self.engine_setup,
        }
    }

    /// Begins to move bytes.
    pub fn begin(&mut self, op: OpId, route: Route, bytes: u64, now: Time) {
        let fluid = Fluid::new(bytes as f64, now);
        self.moving.insert(op, Transfer { route, fluid });
    }

    pub fn next_end(&self) -> Option<Time> {
        self.moving
            .values()
            .map(|transfer| transfer.fluid.end())
            .min()
    }

    /// Removes a transfer that is over at `now` and frees its engine.
    pub fn take_ended(&mut self, now: Time) -> Option<OpId> {
        let (&op, transfer) = self
            .moving
            .iter()
            .find(|(_, transfer)| transfer.fluid.end() <= now)?;
        if let Route::Copy { kind, .. } = transfer.route {
            self.engines[kind as usize].busy = false;
        }
        self.moving.remove(&op);
        Some(op)
    }

    /// Sets the rates of what moves over the link or in host memory. Returns what of it goes through device memory,
    /// in bytes per picosecond.
    pub fn share_link(&mut self, now: Time) -> f64 {
        let moves = |kind| {
            let mut routes = self.moving.values().map(|transfer| transfer.route);
            routes.any(|route| matches!(route, Route::Copy { kind: k, .. } if k == kind))
        };
        let both = moves(CopyKind::HostToDevice) && moves(CopyKind::DeviceToHost);
        let share = if both {
            self.rates.both_directions_share.value
        } else {
            1.0
        };
        let mut through_memory = 0.0;
        for transfer in self.moving.values_mut() {
            let Route::Copy { kind, pageable } = transfer.route else {
                continue;
            };
            let (rate, link) = match (kind, pageable) {
                (CopyKind::DeviceToDevice, _) => continue,
                (CopyKind::HostToHost, _) => (self.rates.host_to_host_gb_per_s, 0.0),
                (CopyKind::HostToDevice, false) => (self.rates.host_to_device_gb_per_s, 1.0),
                (CopyKind::HostToDevice, true) => {
                    (self.rates.pageable_host_to_device_gb_per_s, 1.0)
                }
                (CopyKind::DeviceToHost, false) => (self.rates.device_to_host_gb_per_s, 1.0),
                (CopyKind::DeviceToHost, true) => {
                    (self.rates.pageable_device_to_host_gb_per_s, 1.0)
                }
            };
            let share = if link > 0.0 && !pageable { share } else { 1.0 };
            let rate = rate.bytes_per_pico() * share;
            transfer.fluid.set_rate(rate, now);
            through_memory += rate * link;
        }
        through_memory
    }
}
