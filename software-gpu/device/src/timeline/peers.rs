//! The links between devices.
//!
//! Each device has one port to all others: NVLink through a switch, or the bus. It gives and takes at one rate, and at a smaller one
//! each when it does both. What leaves through a port shares it equally, and so does what arrives; a copy moves at the lesser share
//! of its two ends. Not modelled: that what one copy leaves of its share is used by another, and that copies over the bus
//! share it with those to and from the host.

use super::device::DeviceState;
use super::transfers::Transfer;

/// Sets the rates of all copies between devices, and what of them goes through the memory of the other end. Devices for which
/// something is new are marked.
pub(super) fn share(devices: &mut [DeviceState]) {
    if devices.len() < 2 || !devices.iter().any(|device| device.changed.rates) {
        return;
    }
    let mut ports = vec![Port::default(); devices.len()];
    let between = |device: &DeviceState| -> Vec<[usize; 2]> {
        let moving = device.transfers.moving.values();
        moving.filter_map(Transfer::ends).collect()
    };
    for [from, to] in devices.iter().flat_map(between) {
        ports[from].leaving += 1.0;
        ports[to].arriving += 1.0;
    }
    for (port, device) in ports.iter_mut().zip(devices.iter()) {
        let peer = &device.profile.peer;
        let both = port.leaving > 0.0 && port.arriving > 0.0;
        let share = if both {
            peer.both_directions_share.value
        } else {
            1.0
        };
        port.rate = peer.copy_gb_per_s.bytes_per_pico() * share;
    }
    for (own, device) in devices.iter_mut().enumerate() {
        for transfer in device.transfers.moving.values_mut() {
            let Some([from, to]) = transfer.ends() else {
                continue;
            };
            let leaves = ports[from].rate / ports[from].leaving;
            let rate = leaves.min(ports[to].rate / ports[to].arriving);
            for end in [from, to].into_iter().filter(|&end| end != own) {
                ports[end].foreign += rate;
            }
            device.changed.rates |= transfer.peer_rate != rate;
            transfer.peer_rate = rate;
        }
    }
    for (port, device) in ports.iter().zip(devices) {
        device.changed.rates |= device.transfers.foreign != port.foreign;
        device.transfers.foreign = port.foreign;
    }
}

/// A device's port.
#[derive(Clone, Copy, Debug, Default)]
struct Port {
    /// Copies that leave through it and that arrive.
    leaving: f64,
    arriving: f64,
    /// Bytes per picosecond in each direction.
    rate: f64,
    /// The same of copies that are in other devices' streams.
    foreign: f64,
}
