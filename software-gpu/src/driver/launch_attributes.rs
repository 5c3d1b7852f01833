//! The attributes of `cuLaunchKernelEx` (`CUlaunchAttributeID` of CUDA 13.0).
//!
//! Three of them change what a launch does here: cooperative launch, clusters and priority. Those that are wishes for
//! caches, for the placement of blocks or for the order of memory operations between domains are checked and have no
//! effect on the model. Programmatic stream serialisation is a permission to overlap with the kernel before; the model
//! makes no use of it.

use std::ffi::{c_int, c_uint};

use super::abi::CUlaunchAttribute;
use super::errors::CudaError;

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

/// What the attributes of a launch ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LaunchAttributes {
    /// Blocks of a cluster in x, y, z.
    pub(super) cluster: Option<[c_uint; 3]>,
    /// All blocks have to be resident at once.
    pub(super) cooperative: bool,
    /// Instead of the stream's priority.
    pub(super) priority: Option<c_int>,
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
    pub(super) unsafe fn read(
        attributes: *const CUlaunchAttribute,
        count: c_uint,
    ) -> Result<Self, CudaError> {
        let mut read = Self::default();
        if count > 0 && attributes.is_null() {
            return Err(CudaError::InvalidValue);
        }
        for index in 0..count as usize {
            // SAFETY: there are so many attributes.
            read.apply(&unsafe { attributes.add(index).read_unaligned() })?;
        }
        Ok(read)
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
            IGNORE
            | ACCESS_POLICY_WINDOW
            | PROGRAMMATIC_STREAM_SERIALIZATION
            | MEM_SYNC_DOMAIN_MAP
            | NVLINK_UTIL_CENTRIC_SCHEDULING => {}
            MEM_SYNC_DOMAIN if first <= 1 => {}
            CLUSTER_SCHEDULING_POLICY_PREFERENCE if first <= 2 => {}
            PREFERRED_CLUSTER_DIMENSION => {
                cluster([first, words[0][1], words[1][0]])?;
            }
            PREFERRED_SHARED_MEMORY_CARVEOUT if (-1..=100).contains(&first.cast_signed()) => {}
            PROGRAMMATIC_EVENT => return Err(refuse("programmatic events")),
            LAUNCH_COMPLETION_EVENT => return Err(refuse("launch completion events")),
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

fn refuse(what: &str) -> CudaError {
    eprintln!("software GPU: cuLaunchKernelEx: {what} are not supported");
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
            (15, 0),
            (17, 0),
        ] {
            assert_eq!(
                refused(id, first),
                CudaError::InvalidValue,
                "attribute {id}"
            );
        }
        assert_eq!(refused(PROGRAMMATIC_EVENT, 0), CudaError::NotSupported);
        assert_eq!(refused(LAUNCH_COMPLETION_EVENT, 0), CudaError::NotSupported);
    }
}
