//! Copy engines, memsets, and the bytes they have under way.
//!
//! There is one engine per direction, or one for both where the device reports no more. Each serves the copies that are ready in the order in which they became so: it
//! sets a copy up, then moves its bytes. Memsets are small kernels of the driver's and run side by side; like copies
//! within the device they draw on device memory.

use std::collections::{BTreeMap, BTreeSet};

use super::fluid::Fluid;
use super::profile::{CopyFigures, Peer, Profile};
use super::{CopyKind, OpId, StreamId, Time};

/// What bytes under way are limited by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// A copy engine's.
    Copy {
        kind: CopyKind,
        pageable: bool,
        /// The driver passes the bytes along with the command.
        inline: bool,
    },
    /// A memset's.
    Set,
}

impl Route {
    /// Whether device memory is what limits.
    pub fn is_within_device(self) -> bool {
        match self {
            Self::Copy { kind, .. } => kind == CopyKind::DeviceToDevice,
            Self::Set => true,
        }
    }

    /// Whether device memory is an end of it, and something slower what limits.
    fn ends_in_device(self) -> bool {
        match self {
            Self::Copy { kind, .. } => {
                !matches!(kind, CopyKind::DeviceToDevice | CopyKind::HostToHost)
            }
            Self::Set => false,
        }
    }
}

/// Up to this size the driver stages a pageable copy in one piece.
const STAGED_WHOLE: u64 = 64 << 10;

fn crosses_link(kind: CopyKind) -> bool {
    matches!(kind, CopyKind::HostToDevice | CopyKind::DeviceToHost)
}

#[derive(Debug)]
pub(super) struct Transfer {
    pub route: Route,
    pub fluid: Fluid,
    /// The rate of a copy between devices in bytes per picosecond, as computed in `peers`.
    pub peer_rate: f64,
}

impl Transfer {
    /// The devices at both ends of a copy between devices: where it leaves, and where it arrives.
    pub fn ends(&self) -> Option<[usize; 2]> {
        match self.route {
            Route::Copy {
                kind: CopyKind::PeerToPeer { from, to },
                ..
            } => Some([from.into(), to.into()]),
            _ => None,
        }
    }
}

#[derive(Debug, Default)]
struct Engine {
    /// By the time at which they became ready.
    ready: BTreeSet<(Time, OpId)>,
    busy: bool,
    /// Whose copy it took up last.
    served: Option<StreamId>,
}

#[derive(Debug)]
pub(super) struct Transfers {
    engines: [Engine; CopyKind::ENGINES],
    /// Bytes under way.
    pub moving: BTreeMap<OpId, Transfer>,
    /// What copies in streams of other devices take of this device's memory, in bytes per picosecond.
    pub foreign: f64,
    copies: CopyFigures,
    peer: Peer,
    device_setup: Time,
    set_traffic: f64,
    /// The device has one engine for both directions of the link.
    one_engine: bool,
}

impl Transfers {
    pub fn new(profile: &Profile) -> Self {
        Self {
            engines: Default::default(),
            moving: BTreeMap::new(),
            foreign: 0.0,
            copies: profile.copies.clone(),
            peer: profile.peer.clone(),
            device_setup: profile.memory.copy_setup_us.micros(),
            set_traffic: profile.memory.set_traffic.value,
            one_engine: profile.device.async_engine_count < 2,
        }
    }

    /// The engine that such copies take: one may have to serve both directions of the link.
    fn engine(&self, kind: CopyKind) -> usize {
        match kind {
            CopyKind::DeviceToHost if self.one_engine => CopyKind::HostToDevice.engine(),
            _ => kind.engine(),
        }
    }

    /// Lines a copy up at its engine.
    pub fn enqueue(&mut self, kind: CopyKind, ready: Time, op: OpId) {
        let engine = self.engine(kind);
        self.engines[engine].ready.insert((ready, op));
    }

    /// The next copy that an idle engine takes up.
    pub fn start_one(&mut self) -> Option<OpId> {
        self.engines.iter_mut().find_map(|engine| {
            if engine.busy {
                return None;
            }
            let (_, op) = engine.ready.pop_first()?;
            engine.busy = true;
            Some(op)
        })
    }

    /// How long it takes before the first byte of a copy of `bytes` that just started moves.
    pub fn set_up_copy(
        &mut self,
        kind: CopyKind,
        bytes: u64,
        pageable: bool,
        stream: StreamId,
    ) -> Time {
        let engine = self.engine(kind);
        let before = self.engines[engine].served.replace(stream);
        let switches = before.is_some_and(|before| before != stream);
        let switch = match switches && !matches!(kind, CopyKind::PeerToPeer { .. }) {
            true => {
                let mebibytes = bytes as f64 / f64::from(1 << 20);
                let by_size = self.copies.stream_switch_us_per_mib.value * mebibytes;
                self.copies.stream_switch_us.micros() + Time::from_micros(by_size)
            }
            false => Time::ZERO,
        };
        if self.is_inline(kind, bytes, pageable) {
            return switch + self.copies.inline_setup_us.micros();
        }
        let staging = match pageable && crosses_link(kind) && bytes > STAGED_WHOLE {
            true => self.copies.pageable_setup_us.micros(),
            false => Time::ZERO,
        };
        switch
            + staging
            + match kind {
                CopyKind::DeviceToDevice => self.device_setup,
                CopyKind::DeviceToHost => self.copies.device_to_host_setup_us.micros(),
                CopyKind::HostToDevice | CopyKind::HostToHost => {
                    self.copies.host_to_device_setup_us.micros()
                }
                CopyKind::PeerToPeer { .. } => self.peer.setup_us.micros(),
                CopyKind::PeerThroughHost => {
                    self.copies.device_to_host_setup_us.micros()
                        + self.copies.host_to_device_setup_us.micros()
                }
            }
    }

    /// Whether the driver passes a copy's bytes along with its command: small ones from pageable memory.
    fn is_inline(&self, kind: CopyKind, bytes: u64, pageable: bool) -> bool {
        pageable && kind == CopyKind::HostToDevice && bytes <= STAGED_WHOLE
    }

    /// The route of a copy.
    pub fn route(&self, kind: CopyKind, bytes: u64, pageable: bool) -> Route {
        Route::Copy {
            kind,
            pageable,
            inline: self.is_inline(kind, bytes, pageable),
        }
    }

    /// How long it takes before the first byte of a memset moves.
    pub fn set_up_set(&self) -> Time {
        self.device_setup
    }

    /// What a copy of `bytes` in `rows` takes as long as: short rows waste most of the transactions that they need.
    pub fn moved(&self, bytes: u64, rows: u64) -> u64 {
        match rows {
            0 | 1 => bytes,
            _ => {
                let least = self.copies.least_row_bytes.value * rows as f64;
                bytes.max(least as u64)
            }
        }
    }

    /// Begins to move bytes.
    pub fn begin(&mut self, op: OpId, route: Route, bytes: u64, now: Time) {
        let fluid = Fluid::new(bytes as f64, now);
        let new = Transfer {
            route,
            fluid,
            peer_rate: 0.0,
        };
        self.moving.insert(op, new);
    }

    pub fn next_end(&self) -> Option<Time> {
        self.moving
            .values()
            .map(|transfer| transfer.fluid.end())
            .min()
    }

    /// Removes a transfer that has ended at `now` and frees its engine.
    pub fn take_ended(&mut self, now: Time) -> Option<OpId> {
        let (&op, transfer) = self
            .moving
            .iter()
            .find(|(_, transfer)| transfer.fluid.end() <= now)?;
        if let Route::Copy { kind, .. } = transfer.route {
            let engine = self.engine(kind);
            self.engines[engine].busy = false;
        }
        self.moving.remove(&op);
        Some(op)
    }

    /// Sets the rates of what moves over the link or in host memory. Returns what of it goes through device memory,
    /// in bytes per picosecond.
    pub fn share_link(&mut self, now: Time) -> f64 {
        let share = if self.is_duplex() {
            self.copies.both_directions_share.value
        } else {
            1.0
        };
        let mut through_memory = self.foreign;
        for transfer in self
            .moving
            .values_mut()
            .filter(|t| !t.route.is_within_device())
        {
            let rate = match transfer.ends() {
                Some(_) => transfer.peer_rate,
                None => rate(&self.copies, transfer.route, share),
            };
            transfer.fluid.set_rate(rate, now);
            if transfer.route.ends_in_device() {
                through_memory += rate;
            }
        }
        through_memory
    }

    /// Sets the rates of what moves within the device, whose traffic in device memory is `rates`.
    pub fn share_device(&mut self, rates: &[f64], now: Time) {
        let within = self
            .moving
            .values_mut()
            .filter(|t| t.route.is_within_device());
        for (transfer, rate) in within.zip(rates) {
            let traffic_per_byte = match transfer.route {
                Route::Copy { .. } => 2.0,
                Route::Set => self.set_traffic,
            };
            transfer.fluid.set_rate(rate / traffic_per_byte, now);
        }
    }

    /// Whether bytes move over the link both ways.
    fn is_duplex(&self) -> bool {
        let moves = |wanted| {
            let is_wanted =
                |t: &Transfer| matches!(t.route, Route::Copy { kind, .. } if kind == wanted);
            self.moving.values().any(is_wanted)
        };
        moves(CopyKind::HostToDevice) && moves(CopyKind::DeviceToHost)
    }
}

/// Bytes per picosecond of what does not move within the device. Each direction of the link has `share` of its rate;
/// what the driver stages moves more slowly than that.
fn rate(copies: &CopyFigures, route: Route, share: f64) -> f64 {
    let (link, staging) = match route {
        Route::Copy {
            kind: CopyKind::HostToDevice,
            ..
        } => (
            copies.host_to_device_gb_per_s,
            copies.pageable_host_to_device_gb_per_s,
        ),
        Route::Copy {
            kind: CopyKind::DeviceToHost,
            ..
        } => (
            copies.device_to_host_gb_per_s,
            copies.pageable_device_to_host_gb_per_s,
        ),
        Route::Copy {
            kind: CopyKind::PeerThroughHost,
            ..
        } => {
            // One half goes up while the other comes down.
            let up = copies.host_to_device_gb_per_s.bytes_per_pico();
            return up.min(copies.device_to_host_gb_per_s.bytes_per_pico());
        }
        _ => return copies.host_to_host_gb_per_s.bytes_per_pico(),
    };
    let rate = link.bytes_per_pico() * share;
    match route {
        Route::Copy { inline: true, .. } => rate.min(copies.inline_gb_per_s.bytes_per_pico()),
        Route::Copy { pageable: true, .. } => rate.min(staging.bytes_per_pico()),
        _ => rate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Timeline;

    /// What a copy waits before its first byte moves, at an engine that has served its stream last.
    fn set_up(kind: CopyKind, bytes: u64, pageable: bool) -> Time {
        let profile = Profile::h200();
        let stream = Timeline::new(std::slice::from_ref(&profile), 8).add_stream(0, 0);
        Transfers::new(&profile).set_up_copy(kind, bytes, pageable, stream)
    }

    #[test]
    fn a_pageable_copy_is_inline_up_to_64_kib_and_set_up_for_longer_above() {
        let copies = Profile::h200().copies;
        let to_device = |bytes, pageable| set_up(CopyKind::HostToDevice, bytes, pageable);
        let (setup, inline) = (
            copies.host_to_device_setup_us.micros(),
            copies.inline_setup_us.micros(),
        );
        let staging = copies.pageable_setup_us.micros();
        assert!(staging > Time::ZERO && inline != setup);
        assert_eq!(to_device(65_536, true), inline);
        assert_eq!(to_device(65_537, true), setup + staging);
        assert_eq!(to_device(65_536, false), setup);
        assert_eq!(to_device(65_537, false), setup);
        let to_host = |bytes, pageable| set_up(CopyKind::DeviceToHost, bytes, pageable);
        let setup = copies.device_to_host_setup_us.micros();
        assert_eq!(to_host(65_536, true), setup);
        assert_eq!(to_host(65_537, true), setup + staging);
        assert_eq!(to_host(65_537, false), setup);
    }
}
