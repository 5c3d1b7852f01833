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
    /// The latencies of a profile, rounded.
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

    /// The least latency of memory that other multiprocessors can reach: no compiler knows how long it takes, and none counts on it.
    pub(super) fn unforeseen(&self) -> u16 {
        let reached = [
            self.global,
            self.l2,
            self.atomic,
            self.acquire,
            self.cluster_shared,
        ];
        reached.into_iter().fold(u16::MAX, u16::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(figures: &str) -> Latencies {
        let text = format!("base = \"h200\"\n[kernels.latency_cycles]\n{figures}");
        Latencies::of(&Profile::parse("test", &text).expect("valid"))
    }

    #[test]
    fn cycles_are_whole() {
        let latencies = of("release = { value = 740.5, from = \"measured\" }");
        assert_eq!(latencies.release, 741);
        assert_eq!(latencies.acquire, of("").acquire);
    }

    #[test]
    fn a_hit_is_never_later_than_a_miss() {
        let latencies = of("global = { value = 200.0, from = \"measured\" }");
        assert_eq!((latencies.global, latencies.l2), (200, 200));
    }
}
