//! Architectures to build for.

/// A virtual architecture. A module built for one runs on every later one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NvvmArch {
    /// Volta, and with it every GPU since.
    #[default]
    Compute70,
    /// Turing.
    Compute75,
    /// Ampere, A100, and with it every GPU since: `cp.async`, mbarriers.
    Compute80,
    /// Ampere, GeForce.
    Compute86,
    /// Ada.
    Compute89,
    /// Hopper: clusters, distributed shared memory, bulk copies.
    Compute90,
}

impl NvvmArch {
    /// The name that compilers give it, `sm_70`.
    pub fn target_cpu(self) -> &'static str {
        match self {
            Self::Compute70 => "sm_70",
            Self::Compute75 => "sm_75",
            Self::Compute80 => "sm_80",
            Self::Compute86 => "sm_86",
            Self::Compute89 => "sm_89",
            Self::Compute90 => "sm_90",
        }
    }

    /// The PTX version to ask for, which `cuda_std` sees as `target_feature`: the one that introduced the architecture,
    /// for the A100 and Hopper the next, since `mbarrier.test_wait.parity` and LLVM's `barrier.cluster` need it. Volta's
    /// own, 6.0, is LLVM's default and the one that every driver loads.
    pub(crate) fn target_feature(self) -> Option<&'static str> {
        match self {
            Self::Compute70 => None,
            Self::Compute75 => Some("+ptx63"),
            Self::Compute80 => Some("+ptx71"),
            Self::Compute86 => Some("+ptx71"),
            Self::Compute89 => Some("+ptx78"),
            Self::Compute90 => Some("+ptx80"),
        }
    }
}
