//! Clusters and cooperative grids: whether they fit on the device, and how many at once.
//!
//! The blocks of a cluster run on multiprocessors of one graphics processing cluster (GPC). How many of these a device
//! has is not documented; the model takes as few as possible with at most 18 multiprocessors each, in pairs.

use std::ffi::{c_int, c_uint};

use super::attributes::LaunchAttributes;
use super::occupancy::blocks_per_multiprocessor;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUfunction, CUlaunchConfig, Out};
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;
use crate::driver::modules::function::LoadedFunction;
use crate::driver::reasons::Limit;
use crate::timeline::profile::DeviceProfile;

/// The most blocks of a cluster that every device with clusters supports, and the most of any device.
const PORTABLE: u32 = 8;
const LARGEST: u32 = 16;
/// Multiprocessors of a GPC.
const GPC: u32 = 18;
/// Devices from this compute capability on have clusters.
const CAPABILITY: u32 = 9;

entry_points! {
    /// How many clusters of this launch run on the device at once.
    fn cuOccupancyMaxActiveClusters(count: Out<c_int>, function: CUfunction, config: *const CUlaunchConfig) {
        // SAFETY: the caller passes null or a configuration with as many attributes as it says.
        let (config, attributes) = unsafe { read(config) }?;
        call(Cost::Other, |call| {
            call.context()?;
            let function = call.launched(function)?;
            call.check_executable(function)?;
            let function = call.functions.get(function)?;
            let device = &call.profile_of(function.context)?.device;
            let cluster = function.cluster(attributes.cluster, config.grid, device)?.unwrap_or([1; 3]);
            let blocks = resident_blocks(function, device, config.block, config.shared_bytes);
            count.set(active_clusters(device, blocks, cluster.iter().product()) as c_int)
        })
    }

    /// The largest cluster that a launch may ask for.
    fn cuOccupancyMaxPotentialClusterSize(size: Out<c_int>, function: CUfunction, config: *const CUlaunchConfig) {
        // SAFETY: as above.
        let (config, _) = unsafe { read(config) }?;
        call(Cost::Other, |call| {
            call.context()?;
            let function = call.launched(function)?;
            call.check_executable(function)?;
            let function = call.functions.get(function)?;
            let device = &call.profile_of(function.context)?.device;
            let blocks = resident_blocks(function, device, config.block, config.shared_bytes);
            let fits = |size: &u32| active_clusters(device, blocks, *size) > 0;
            let largest = (1..=function.largest_cluster(device)).rev().find(fits);
            size.set(largest.unwrap_or(0) as c_int)
        })
    }
}

/// # Safety
/// `config` is null or a configuration with as many attributes as it says.
unsafe fn read<'c>(
    config: *const CUlaunchConfig,
) -> Result<(&'c CUlaunchConfig, LaunchAttributes), CudaError> {
    // SAFETY: the caller's promise.
    let config = unsafe { config.as_ref() }.ok_or(CudaError::InvalidValue)?;
    // SAFETY: as above.
    let attributes = unsafe { LaunchAttributes::read(config.attributes, config.attribute_count) }?;
    Ok((config, attributes))
}

impl LoadedFunction {
    /// The clusters of a launch with a grid of these extents, which may `ask` for them; `None` for no clusters.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CLUSTER_SIZE` when the kernel demands others or demands that the launch says, when they are
    /// too large, or do not divide the grid.
    pub(in crate::driver) fn cluster(
        &self,
        ask: Option<[c_uint; 3]>,
        grid: [c_uint; 3],
        device: &DeviceProfile,
    ) -> Result<Option<[c_uint; 3]>, CudaError> {
        let bounds = self.kernel().cluster();
        let required = self.required_cluster();
        let cluster = match (ask, required) {
            (Some(ask), Some(required)) if ask != required => {
                return Err(CudaError::InvalidClusterSize);
            }
            (None, None) if bounds.explicit => return Err(CudaError::InvalidClusterSize),
            (ask, required) => ask.or(required),
        };
        let Some(cluster) = cluster else {
            return Ok(None);
        };
        let blocks = cluster
            .map(u64::from)
            .iter()
            .fold(1, |product: u64, extent| product.saturating_mul(*extent));
        let divides = (0..3).all(|axis| grid[axis].checked_rem(cluster[axis]) == Some(0));
        if blocks > self.largest_cluster(device).into() || !divides {
            return Err(CudaError::InvalidClusterSize);
        }
        Ok(Some(cluster))
    }

    /// The most blocks of a cluster: by the device, the kernel's `.maxclusterrank`, and whether it may be more than
    /// what is portable.
    pub(in crate::driver) fn largest_cluster(&self, device: &DeviceProfile) -> u32 {
        let by_device = match (
            device.compute_capability_major < CAPABILITY,
            self.non_portable_cluster(),
        ) {
            (true, _) => 1,
            (false, false) => PORTABLE,
            (false, true) => LARGEST,
        };
        by_device.min(self.kernel().cluster().max_blocks.unwrap_or(LARGEST))
    }
}

/// Refuses a cooperative launch whose blocks do not all fit on the device at once.
///
/// # Errors
/// `CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE`.
pub(in crate::driver) fn check_cooperative(
    function: &LoadedFunction,
    device: &DeviceProfile,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    cluster: Option<[c_uint; 3]>,
) -> Result<(), CudaError> {
    let blocks: u64 = grid.map(u64::from).iter().product();
    let resident = resident_blocks(function, device, block, shared_bytes);
    let cluster: u32 = cluster.map_or(1, |extents| extents.iter().product());
    let room = u64::from(active_clusters(device, resident, cluster)) * u64::from(cluster);
    if blocks > room {
        return Err(Limit::Cooperative(blocks, room).refuse(function.kernel().name()));
    }
    Ok(())
}

fn resident_blocks(
    function: &LoadedFunction,
    device: &DeviceProfile,
    block: [c_uint; 3],
    shared_bytes: c_uint,
) -> u32 {
    let threads = block
        .iter()
        .fold(1, |product: u32, extent| product.saturating_mul(*extent));
    blocks_per_multiprocessor(device, function.kernel(), threads, shared_bytes as usize)
}

/// How many clusters of `blocks` blocks run at once when a multiprocessor holds `resident` blocks.
fn active_clusters(device: &DeviceProfile, resident: u32, blocks: u32) -> u32 {
    if blocks <= 1 {
        return device.multiprocessor_count * resident;
    }
    gpcs(device.multiprocessor_count)
        .map(|multiprocessors| multiprocessors * resident / blocks)
        .sum()
}

/// The multiprocessors of each GPC; an odd one is in the last, which has the fewest pairs.
fn gpcs(multiprocessors: u32) -> impl Iterator<Item = u32> {
    let count = multiprocessors.div_ceil(GPC).max(1);
    let pairs = multiprocessors / 2;
    let odd = multiprocessors % 2;
    (0..count).map(move |index| {
        let more = u32::from(index < pairs % count);
        2 * (pairs / count + more) + if index == count - 1 { odd } else { 0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_stays_within_a_gpc() {
        let sizes: Vec<u32> = gpcs(132).collect();
        assert_eq!(sizes, [18, 18, 16, 16, 16, 16, 16, 16]);
        for multiprocessors in 1..200 {
            assert_eq!(gpcs(multiprocessors).sum::<u32>(), multiprocessors);
            assert!(gpcs(multiprocessors).all(|size| size <= GPC));
        }
    }
}
