//! The attributes of `cuLaunchKernelEx` (`CUlaunchAttributeID` of CUDA 13.0).
//!
//! Cooperative launch, clusters and priority change what a launch does here. Hints for caches, for the
//! placement of blocks or for the order of memory operations between domains are checked and have no effect on the
//! model. Programmatic stream serialisation is a permission to overlap with the kernel before; the model makes no use
//! of it, and the ordering checker counts on it.
//!
//! Where CUDA allows several instants for the record of an event, the model takes the one that guarantees least: a launch
//! completion event promises nothing about what the kernel writes, so it is recorded before the kernel. A programmatic
//! event stands for all that the kernel wrote, to kernels which wait for it with `griddepcontrol.wait`; it is recorded
//! after the kernel.

use std::ffi::{c_int, c_uint};

use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, CUevent, CUlaunchAttribute, CUstream};
use crate::driver::simulation::simulator::Simulator;
use crate::timeline::profile::DeviceProfile;

const IGNORE: c_uint = 0;
const ACCESS_POLICY_WINDOW: c_uint = 1;
const COOPERATIVE: c_uint = 2;
const CLUSTER_DIMENSION: c_uint = 4;
const CLUSTER_SCHEDULING_POLICY_PREFERENCE: c_uint = 5;
const PROGRAMMATIC_STREAM_SERIALIZATION: c_uint = 6;
const PROGRAMMATIC_EVENT: c_uint = 7;
const PRIORITY: c_uint = 8;
const MEM_SYNC_DOMAIN_MAP: c_uint = 9;
const MEM_SYNC_DOMAIN: c_uint = 10;
const PREFERRED_CLUSTER_DIMENSION: c_uint = 11;
const LAUNCH_COMPLETION_EVENT: c_uint = 12;
const DEVICE_UPDATABLE_KERNEL_NODE: c_uint = 13;
const PREFERRED_SHARED_MEMORY_CARVEOUT: c_uint = 14;
const NVLINK_UTIL_CENTRIC_SCHEDULING: c_uint = 16;

/// `CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT` of devices with clusters.
const MEM_SYNC_DOMAINS: u8 = 4;

/// What the attributes of a launch ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::driver) struct LaunchAttributes {
    /// Blocks of a cluster in x, y, z.
    pub(in crate::driver) cluster: Option<[c_uint; 3]>,
    /// Blocks of a larger cluster that would be as welcome.
    preferred_cluster: Option<[c_uint; 3]>,
    /// All blocks have to be resident at once.
    pub(in crate::driver) cooperative: bool,
    /// Instead of the stream's priority.
    pub(in crate::driver) priority: Option<c_int>,
    /// The kernel may begin before the one before it in its stream has ended.
    pub(in crate::driver) programmatic: bool,
    /// To be recorded when all blocks have begun.
    pub(in crate::driver) completion_event: Option<CUevent>,
    /// To be recorded when all blocks have triggered it.
    pub(in crate::driver) programmatic_event: Option<CUevent>,
}

impl LaunchAttributes {
    /// Reads the attributes of a launch; the last one of an identifier counts.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a null pointer, an unknown identifier or a value outside of its range;
    /// `CUDA_ERROR_NOT_SUPPORTED` for what the software GPU cannot do.
    ///
    /// # Safety
    /// `attributes` is null or points to `count` attributes.
    pub(in crate::driver) unsafe fn read(
        attributes: *const CUlaunchAttribute,
        count: c_uint,
    ) -> Result<Self, CudaError> {
        let mut read = Self::default();
        if count > 0 && attributes.is_null() {
            return Err(CudaError::InvalidValue);
        }
        for index in 0..count as usize {
            // SAFETY: there are that many attributes.
            read.apply(&unsafe { attributes.add(index).read_unaligned() })?;
        }
        read.check_preferred_cluster()?;
        Ok(read)
    }

    /// A preferred cluster counts beside a regular one alone, of which it is a multiple in x and y.
    fn check_preferred_cluster(&self) -> Result<(), CudaError> {
        match (self.cluster, self.preferred_cluster) {
            (Some(regular), Some(preferred))
                if preferred[2] != regular[2]
                    || !preferred[0].is_multiple_of(regular[0])
                    || !preferred[1].is_multiple_of(regular[1]) =>
            {
                Err(CudaError::InvalidClusterSize)
            }
            _ => Ok(()),
        }
    }

    /// Refuses events that a launch into this stream of the context cannot record.
    pub(in crate::driver) fn check(
        &self,
        simulator: &Simulator,
        stream: CUstream,
        context: CUcontext,
    ) -> Result<(), CudaError> {
        let events = self.completion_event.into_iter();
        for event in events.chain(self.programmatic_event) {
            simulator.check_launch_event(event, context)?;
            if simulator.is_capturing(stream) {
                return Err(refuse("events of launches that are captured"));
            }
        }
        Ok(())
    }

    /// The launch's own priority, moved into the device's range.
    pub(in crate::driver) fn priority_on(&self, device: &DeviceProfile) -> Option<c_int> {
        let (greatest, least) = (
            device.greatest_stream_priority,
            device.least_stream_priority,
        );
        self.priority
            .map(|priority| priority.clamp(greatest, least))
    }

    fn apply(&mut self, attribute: &CUlaunchAttribute) -> Result<(), CudaError> {
        let words = attribute
            .value
            .map(|word| [word as u32, (word >> 32) as u32]);
        let first = words[0][0];
        match attribute.id {
            COOPERATIVE => self.cooperative = first != 0,
            CLUSTER_DIMENSION => self.cluster = cluster([first, words[0][1], words[1][0]])?,
            PRIORITY => self.priority = Some(first.cast_signed()),
            PROGRAMMATIC_EVENT => self.programmatic_event = Some(event(&attribute.value)?),
            LAUNCH_COMPLETION_EVENT => self.completion_event = Some(event(&attribute.value)?),
            IGNORE => {}
            PROGRAMMATIC_STREAM_SERIALIZATION => self.programmatic = first != 0,
            ACCESS_POLICY_WINDOW => check_access_policy(&attribute.value)?,
            NVLINK_UTIL_CENTRIC_SCHEDULING | MEM_SYNC_DOMAIN if first <= 1 => {}
            MEM_SYNC_DOMAIN_MAP => check_domains(&attribute.value)?,
            CLUSTER_SCHEDULING_POLICY_PREFERENCE if first <= 2 => {}
            PREFERRED_CLUSTER_DIMENSION => {
                self.preferred_cluster = cluster([first, words[0][1], words[1][0]])?;
            }
            PREFERRED_SHARED_MEMORY_CARVEOUT if (-1..=100).contains(&first.cast_signed()) => {}
            DEVICE_UPDATABLE_KERNEL_NODE => return Err(refuse("device-updatable kernel nodes")),
            // Unknown, out of range, or for streams only (`SYNCHRONIZATION_POLICY`).
            _ => return Err(CudaError::InvalidValue),
        }
        Ok(())
    }
}

/// All extents zero mean that the launch has no clusters.
fn cluster(extents: [c_uint; 3]) -> Result<Option<[c_uint; 3]>, CudaError> {
    match extents {
        [0, 0, 0] => Ok(None),
        extents if extents.contains(&0) => Err(CudaError::InvalidValue),
        extents => Ok(Some(extents)),
    }
}

/// An event with flags for its record, of which launches accept none.
fn event(value: &[u64; 8]) -> Result<CUevent, CudaError> {
    if value[1] as u32 != 0 {
        return Err(CudaError::InvalidValue);
    }
    Ok(CUevent(value[0] as usize))
}

/// Refuses a `CUaccessPolicyWindow` whose ratio is not between 0 and 1 or whose misses persist.
pub(in crate::driver) fn check_access_policy(value: &[u64; 8]) -> Result<(), CudaError> {
    let ratio = f32::from_bits(value[2] as u32);
    let (on_hit, on_miss) = ((value[2] >> 32) as u32, value[3] as u32);
    if (0.0..=1.0).contains(&ratio) && on_hit <= 2 && on_miss <= 1 {
        Ok(())
    } else {
        Err(CudaError::InvalidValue)
    }
}

/// Refuses a `CUlaunchMemSyncDomainMap` with domains that do not exist.
pub(in crate::driver) fn check_domains(value: &[u64; 8]) -> Result<(), CudaError> {
    let [default, remote, ..] = value[0].to_le_bytes();
    if default.max(remote) < MEM_SYNC_DOMAINS {
        Ok(())
    } else {
        Err(CudaError::InvalidValue)
    }
}

fn refuse(what: &str) -> CudaError {
    crate::say!("software GPU: cuLaunchKernelEx: {what} are not supported");
    CudaError::NotSupported
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(id: c_uint, words: [u32; 3]) -> CUlaunchAttribute {
        let mut value = [0; 8];
        value[0] = u64::from(words[0]) | u64::from(words[1]) << 32;
        value[1] = words[2].into();
        let padding = [0; 4];
        CUlaunchAttribute { id, padding, value }
    }

    fn read(attributes: &[CUlaunchAttribute]) -> Result<LaunchAttributes, CudaError> {
        // SAFETY: the pointer and the length are those of a slice.
        unsafe { LaunchAttributes::read(attributes.as_ptr(), attributes.len() as c_uint) }
    }

    #[test]
    fn the_last_attribute_of_a_kind_counts() {
        let attributes = [
            attribute(CLUSTER_DIMENSION, [2, 1, 1]),
            attribute(COOPERATIVE, [1, 0, 0]),
            attribute(CLUSTER_DIMENSION, [2, 3, 4]),
            attribute(PRIORITY, [u32::MAX, 0, 0]),
            attribute(IGNORE, [9, 9, 9]),
        ];
        let expected = LaunchAttributes {
            cluster: Some([2, 3, 4]),
            cooperative: true,
            priority: Some(-1),
            ..LaunchAttributes::default()
        };
        assert_eq!(read(&attributes), Ok(expected));
    }

    #[test]
    fn values_out_of_range_and_unknown_attributes_are_refused() {
        let refused = |id, first| read(&[attribute(id, [first, 0, 0])]).unwrap_err();
        for (id, first) in [
            (CLUSTER_DIMENSION, 2),
            (3, 1),
            (CLUSTER_SCHEDULING_POLICY_PREFERENCE, 3),
            (PREFERRED_SHARED_MEMORY_CARVEOUT, 101),
            (NVLINK_UTIL_CENTRIC_SCHEDULING, 2),
            (MEM_SYNC_DOMAIN, 2),
            (MEM_SYNC_DOMAIN_MAP, 4),
            (MEM_SYNC_DOMAIN_MAP, 4 << 8),
            (15, 0),
            (17, 0),
        ] {
            assert_eq!(
                refused(id, first),
                CudaError::InvalidValue,
                "attribute {id}"
            );
        }
        assert_eq!(
            refused(DEVICE_UPDATABLE_KERNEL_NODE, 1),
            CudaError::NotSupported
        );
    }

    #[test]
    fn a_preferred_cluster_is_made_of_regular_ones() {
        let clusters = |regular, preferred| {
            read(&[
                attribute(PREFERRED_CLUSTER_DIMENSION, preferred),
                attribute(CLUSTER_DIMENSION, regular),
            ])
            .map(|read| read.cluster)
        };
        assert_eq!(clusters([2, 1, 1], [4, 2, 1]), Ok(Some([2, 1, 1])));
        assert_eq!(clusters([0, 0, 0], [3, 1, 1]), Ok(None));
        for preferred in [[3, 1, 1], [2, 1, 2]] {
            assert_eq!(
                clusters([2, 1, 1], preferred),
                Err(CudaError::InvalidClusterSize)
            );
        }
    }

    #[test]
    fn a_window_has_a_ratio_and_misses_that_do_not_persist() {
        let window = |ratio: f32, on_hit: u64, on_miss: u64| {
            let word = u64::from(ratio.to_bits()) | on_hit << 32;
            check_access_policy(&[0, 0, word, on_miss, 0, 0, 0, 0])
        };
        assert_eq!(window(0.5, 2, 1), Ok(()));
        for (ratio, on_hit, on_miss) in [
            (1.5, 2, 1),
            (-0.5, 2, 1),
            (f32::NAN, 2, 1),
            (0.5, 3, 1),
            (0.5, 2, 2),
        ] {
            assert_eq!(
                window(ratio, on_hit, on_miss),
                Err(CudaError::InvalidValue),
                "{ratio} {on_hit} {on_miss}"
            );
        }
    }

    #[test]
    fn the_record_of_an_event_takes_no_flags() {
        assert_eq!(event(&[7, 0, 0, 0, 0, 0, 0, 0]), Ok(CUevent(7)));
        assert_eq!(
            event(&[7, 1, 0, 0, 0, 0, 0, 0]),
            Err(CudaError::InvalidValue)
        );
        let at_block_start = 1 << 32;
        assert_eq!(
            event(&[7, at_block_start, 0, 0, 0, 0, 0, 0]),
            Ok(CUevent(7))
        );
    }
}
