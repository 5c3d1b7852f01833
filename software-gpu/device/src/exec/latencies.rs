//! How long a device's memory takes to answer: figures of its profile, as the executor counts them.

use software_gpu_profiles::{Figure, Profile};

/// Whole cycles from an instruction to its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latencies {
    pub(super) global: u16,
    pub(super) l2: u16,
    pub(super) l1: u16,
    pub(super) shared: u16,
    pub(super) atomic: u16,
    pub(super) acquire: u16,
    pub(super) release: u16,
    pub(super) cluster_shared: u16,
    pub(super) cluster_barrier: u16,
}

impl Latencies {
    /// Those of a profile, rounded.
    pub fn of(profile: &Profile) -> Self {
        let profile = &profile.kernels.latency_cycles;
        let cycles = |figure: Figure| figure.value.round() as u16;
        let global = cycles(profile.global);
        Self {
            global,
            // The model counts what a hit saves.
            l2: cycles(profile.l2).min(global),
            l1: cycles(profile.l1),
            shared: cycles(profile.shared),
            atomic: cycles(profile.atomic),
            acquire: cycles(profile.acquire),
            release: cycles(profile.release),
            cluster_shared: cycles(profile.cluster_shared),
            cluster_barrier: cycles(profile.cluster_barrier),
        }
    }
}
