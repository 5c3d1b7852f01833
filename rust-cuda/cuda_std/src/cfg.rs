//! What the module is compiled for.
//!
//! `cuda_builder` compiles with `target_feature = "compute_70"` and so on for the architecture and all earlier ones, for
//! `#[cfg(target_feature = "compute_80")]`, and with the environment variable `CUDA_ARCH`, which this module reads.

use core::cmp::Ordering;

macro_rules! capabilities {
    ($($name:ident = $number:literal),* $(,)?) => {
        /// A compute capability: older ones are less.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ComputeCapability {
            $(#[doc = concat!("Compute capability ", $number, ", ten times.")] $name,)*
        }

        impl ComputeCapability {
            /// Ten times the capability: 75 for 7.5.
            pub const fn number(self) -> u32 {
                match self {
                    $(Self::$name => $number,)*
                }
            }

            const fn of(number: u32) -> Self {
                match number {
                    $($number => Self::$name,)*
                    _ => panic!("CUDA_ARCH is not a compute capability"),
                }
            }
        }
    };
}

capabilities! {
    Compute35 = 35, Compute37 = 37, Compute50 = 50, Compute52 = 52, Compute53 = 53, Compute60 = 60, Compute61 = 61,
    Compute62 = 62, Compute70 = 70, Compute72 = 72, Compute75 = 75, Compute80 = 80, Compute86 = 86, Compute87 = 87,
    Compute88 = 88, Compute89 = 89, Compute90 = 90, Compute100 = 100, Compute101 = 101, Compute103 = 103,
    Compute110 = 110, Compute120 = 120, Compute121 = 121,
}

impl PartialOrd for ComputeCapability {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ComputeCapability {
    #[inline(always)]
    fn cmp(&self, other: &Self) -> Ordering {
        self.number().cmp(&other.number())
    }
}

impl ComputeCapability {
    /// The capability that the module is compiled for, a constant: branches on it are decided at compile time.
    ///
    /// # Panics
    /// On the host, which has no architecture of this kind.
    #[inline(always)]
    pub fn from_cuda_arch_env() -> Self {
        const ARCH: Option<&str> = option_env!("CUDA_ARCH");
        const NUMBER: u32 = match ARCH {
            Some(text) => number(text.as_bytes()) / 10,
            None => 0,
        };
        if cfg!(not(target_os = "cuda")) {
            panic!("cuda_std: a compute capability exists only on the GPU");
        }
        const { Self::of(if NUMBER == 0 { 70 } else { NUMBER }) }
    }
}

/// The number in the decimal digits at the beginning.
const fn number(digits: &[u8]) -> u32 {
    let (mut value, mut next) = (0, 0);
    while next < digits.len() && digits[next].is_ascii_digit() {
        value = 10 * value + (digits[next] - b'0') as u32;
        next += 1;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_ordered_by_their_numbers() {
        assert!(ComputeCapability::Compute90 < ComputeCapability::Compute100);
        assert_eq!(ComputeCapability::of(121), ComputeCapability::Compute121);
        assert_eq!(number(b"1200"), 1200);
        assert_eq!(number(b"900a"), 900);
    }
}
