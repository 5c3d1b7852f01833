//! A part's requirements on its device, as data: `--describe` says it, and the part is not begun without it.

use crate::device::Device;
use crate::error::Result;
use std::fmt;

/// A property without which a part has nothing to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The least number of devices.
    Devices(u32),
    /// Allocation in stream order.
    MemoryPools,
    /// Streams of more than one priority.
    StreamPriorities,
    /// Launches whose blocks are all resident at the same time.
    CooperativeLaunch,
    /// This compute capability at least.
    ComputeCapability(u32, u32),
    /// This compute capability and no other: instructions of an architecture with the suffix `a`.
    ComputeCapabilityAlone(u32, u32),
    /// The least number of multiprocessors.
    Multiprocessors(u32),
    /// The least number of engines that copy beside kernels: two for both directions at once.
    CopyEngines(u32),
    /// Several host threads, which a program in WebAssembly does not have.
    HostThreads,
    /// Processes of its own, which a program in WebAssembly cannot start.
    Processes,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Devices(count) => write!(f, "{count} devices (cuDeviceGetCount)"),
            Self::MemoryPools => {
                f.write_str("memory pools (CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)")
            }
            Self::StreamPriorities => {
                f.write_str("stream priorities (cuCtxGetStreamPriorityRange)")
            }
            Self::CooperativeLaunch => {
                f.write_str("cooperative launch (CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)")
            }
            Self::ComputeCapability(major, minor) => {
                write!(f, "compute capability {major}.{minor}")
            }
            Self::ComputeCapabilityAlone(major, minor) => {
                write!(f, "compute capability {major}.{minor} and no other")
            }
            Self::Multiprocessors(count) => write!(f, "{count} multiprocessors"),
            Self::CopyEngines(count) => write!(
                f,
                "{count} copy engines (CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT)"
            ),
            Self::HostThreads => f.write_str("host threads (not in the browser)"),
            Self::Processes => f.write_str("processes (not in the browser)"),
        }
    }
}

impl Need {
    /// Whether the device has it.
    ///
    /// # Errors
    /// When the driver does not answer.
    pub fn is_met(self, device: &Device) -> Result<bool> {
        match self {
            Self::Devices(count) => Ok(device.count() >= count),
            Self::MemoryPools => device.has_memory_pools(),
            Self::StreamPriorities => {
                let range = device.stream_priorities()?;
                Ok(range.start() < range.end())
            }
            Self::CooperativeLaunch => device.has_cooperative_launch(),
            Self::ComputeCapability(major, minor) => {
                Ok(device.compute_capability()? >= (major, minor))
            }
            Self::ComputeCapabilityAlone(major, minor) => {
                Ok(device.compute_capability()? == (major, minor))
            }
            Self::Multiprocessors(count) => Ok(device.multiprocessors()? >= count),
            Self::CopyEngines(count) => Ok(device.copy_engines()? >= count),
            Self::HostThreads | Self::Processes => Ok(cfg!(not(target_family = "wasm"))),
        }
    }
}

/// Refuses a device that lacks one of these.
///
/// # Errors
/// [`crate::device::MissingProperty`], or when the driver does not answer.
pub(crate) fn check_all(needs: &[Need], device: &Device) -> anyhow::Result<()> {
    for need in needs {
        let why = "the part has nothing to show without";
        device.require(need.is_met(device)?, &need.to_string(), why)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::{self, Exit};
    use libcuda::Choice;

    #[test]
    fn what_the_device_lacks_ends_the_part_with_the_propertys_name() {
        let device = Device::open(Choice::Software).unwrap();
        let has = [
            Need::MemoryPools,
            Need::StreamPriorities,
            Need::Multiprocessors(8),
        ];
        check_all(&has, &device).unwrap();
        check_all(
            &[Need::CooperativeLaunch, Need::ComputeCapability(9, 0)],
            &device,
        )
        .unwrap();
        assert_eq!(Need::ComputeCapability(9, 1).is_met(&device), Ok(false));
        let alone = |major, minor| Need::ComputeCapabilityAlone(major, minor).is_met(&device);
        assert_eq!([alone(9, 0), alone(8, 0)], [Ok(true), Ok(false)]);
        let lacks = [Need::MemoryPools, Need::Multiprocessors(1000)];
        let error = check_all(&lacks, &device).unwrap_err();
        assert_eq!(exit::of(&error), Exit::DeviceLacks);
        assert_eq!(
            error.to_string(),
            "NVIDIA H200 lacks 1000 multiprocessors: the part has nothing to show without"
        );
    }
}
