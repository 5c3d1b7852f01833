//! Architectures to build for.

use std::fmt;

macro_rules! architectures {
    ($($name:ident $number:literal $suffix:literal $ptx:literal $doc:literal;)*) => {
        /// A virtual architecture. A module built for one runs on every later one; with the suffix `a` on that one alone, with
        /// `f` on those of its family.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[allow(non_camel_case_types)]
        pub enum NvvmArch {
            $(#[doc = $doc] $name,)*
        }

        impl NvvmArch {
            /// All of them, oldest first.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Ten times the compute capability: 75 for 7.5.
            pub fn capability_value(self) -> u32 {
                match self { $(Self::$name => $number,)* }
            }

            /// `a`, `f` or nothing.
            pub(crate) fn suffix(self) -> &'static str {
                match self { $(Self::$name => $suffix,)* }
            }

            /// The name that compilers give it, `sm_70`. The backend begins with Volta: older ones have its name.
            pub fn target_cpu(self) -> &'static str {
                match self {
                    $(Self::$name if $number < 70 => "sm_70",)*
                    $(Self::$name => concat!("sm_", $number, $suffix),)*
                }
            }

            /// The name that NVVM gives it, `compute_70`.
            pub fn target_feature(self) -> &'static str {
                match self { $(Self::$name => concat!("compute_", $number, $suffix),)* }
            }

            /// The PTX version to ask for.
            fn ptx(self) -> u32 {
                match self { $(Self::$name => $ptx,)* }
            }
        }
    };
}

architectures! {
    Compute35 35 "" 60 "Kepler; compiled for Volta.";
    Compute37 37 "" 60 "Kepler; compiled for Volta.";
    Compute50 50 "" 60 "Maxwell; compiled for Volta.";
    Compute52 52 "" 60 "Maxwell; compiled for Volta.";
    Compute53 53 "" 60 "Maxwell, Tegra; compiled for Volta.";
    Compute60 60 "" 60 "Pascal; compiled for Volta.";
    Compute61 61 "" 60 "Pascal; compiled for Volta.";
    Compute62 62 "" 60 "Pascal, Tegra; compiled for Volta.";
    Compute70 70 "" 60 "Volta, and with it every GPU since.";
    Compute72 72 "" 61 "Volta, Tegra.";
    Compute75 75 "" 63 "Turing.";
    Compute80 80 "" 71 "Ampere, A100, and with it every GPU since: `cp.async`, mbarriers.";
    Compute86 86 "" 71 "Ampere, GeForce.";
    Compute87 87 "" 74 "Ampere, Jetson Orin.";
    Compute88 88 "" 90 "Ampere, Tegra, of CUDA 13.";
    Compute89 89 "" 78 "Ada.";
    Compute90 90 "" 80 "Hopper: clusters, distributed shared memory, bulk copies.";
    Compute90a 90 "a" 83 "Hopper alone: `wgmma`, `setmaxnreg`.";
    Compute100 100 "" 86 "Blackwell, B200.";
    Compute100f 100 "f" 88 "Blackwell, the family of B200.";
    Compute100a 100 "a" 86 "Blackwell, B200 alone.";
    Compute101 101 "" 86 "Blackwell, Jetson Thor, as CUDA 12 calls it.";
    Compute101f 101 "f" 88 "Blackwell, the family of Jetson Thor, as CUDA 12 calls it.";
    Compute101a 101 "a" 86 "Blackwell, Jetson Thor alone, as CUDA 12 calls it.";
    Compute103 103 "" 88 "Blackwell, B300.";
    Compute103f 103 "f" 88 "Blackwell, the family of B300.";
    Compute103a 103 "a" 88 "Blackwell, B300 alone.";
    Compute110 110 "" 90 "Blackwell, Jetson Thor.";
    Compute110f 110 "f" 90 "Blackwell, the family of Jetson Thor.";
    Compute110a 110 "a" 90 "Blackwell, Jetson Thor alone.";
    Compute120 120 "" 87 "Blackwell, GeForce.";
    Compute120f 120 "f" 88 "Blackwell, the family of GeForce.";
    Compute120a 120 "a" 87 "Blackwell, GeForce alone.";
    Compute121 121 "" 88 "Blackwell, DGX Spark.";
    Compute121f 121 "f" 88 "Blackwell, the family of DGX Spark.";
    Compute121a 121 "a" 88 "Blackwell, DGX Spark alone.";
}

#[expect(clippy::derivable_impls, reason = "the variants come from a table")]
impl Default for NvvmArch {
    fn default() -> Self {
        Self::Compute70
    }
}

impl fmt::Display for NvvmArch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.target_feature())
    }
}

impl NvvmArch {
    /// The flag for the PTX version, which `cuda_std` sees as `target_feature`: the one that introduced the
    /// architecture, for the A100 and Hopper the next, since `mbarrier.test_wait.parity` and LLVM's `barrier.cluster` need
    /// it. Volta's own, 6.0, is LLVM's default and the one that every driver loads.
    pub(crate) fn rustc_feature(self) -> Option<String> {
        (self.ptx() > 60).then(|| format!("+ptx{}", self.ptx()))
    }

    /// The names for which `cfg(target_feature = "..")` holds: the architecture's own and those of all that its module would
    /// run on if they were this one. That is without suffix all before; one with a suffix adds its own name, and `a` that of the
    /// family.
    pub fn all_target_features(self) -> Vec<String> {
        let included = |other: &&Self| {
            let (own, other) = (
                (self.capability_value(), self.suffix()),
                (other.capability_value(), other.suffix()),
            );
            other.1.is_empty() && other.0 <= own.0
                || other.0 == own.0 && (other.1 == own.1 || own.1 == "a")
        };
        let features = Self::ALL.iter().filter(included);
        features.map(Self::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_those_of_all_before_and_of_the_own_family() {
        let features = NvvmArch::Compute75.all_target_features();
        assert!(features.contains(&"compute_35".into()) && features.contains(&"compute_75".into()));
        assert!(!features.contains(&"compute_80".into()));

        let family = NvvmArch::Compute101f.all_target_features();
        assert!(
            ["compute_101f", "compute_101", "compute_100"]
                .iter()
                .all(|&name| family.contains(&name.into()))
        );
        assert!(
            !["compute_100f", "compute_101a"]
                .iter()
                .any(|&name| family.contains(&name.into()))
        );

        let own = NvvmArch::Compute120a.all_target_features();
        assert!(
            ["compute_120a", "compute_120f", "compute_120"]
                .iter()
                .all(|&name| own.contains(&name.into()))
        );
        assert!(!own.contains(&"compute_103f".into()));
    }

    #[test]
    fn old_architectures_are_compiled_for_volta() {
        assert_eq!(NvvmArch::Compute61.target_cpu(), "sm_70");
        assert_eq!(NvvmArch::Compute61.rustc_feature(), None);
        assert_eq!(NvvmArch::Compute90a.target_cpu(), "sm_90a");
        assert_eq!(NvvmArch::Compute61.to_string(), "compute_61");
    }
}
