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
    /// Ampere, A100.
    Compute80,
    /// Ampere, GeForce.
    Compute86,
    /// Ada.
    Compute89,
    /// Hopper: clusters, distributed shared memory, asynchronous barriers.
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

    /// The PTX version to ask for where LLVM's default for the architecture lacks instructions that it has.
    pub(crate) fn target_feature(self) -> Option<&'static str> {
        (self == Self::Compute90).then_some("+ptx80")
    }
}
