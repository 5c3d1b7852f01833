//! How many blocks of a kernel fit on a multiprocessor.

use std::ffi::{c_int, c_uint};

use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{BlockSizeToSharedBytes, CUfunction, Out};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::modules::function::max_threads;
use crate::exec::ExecutableKernel;
use crate::timeline::profile::DeviceProfile;

/// `CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE`: no difference on devices of today.
const KNOWN_FLAGS: c_uint = 1;

entry_points! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: Out<c_int>,
        function: CUfunction,
        block_size: c_int,
        dynamic_shared_bytes: usize,
    ) {
        max_active_blocks(blocks, function, block_size, dynamic_shared_bytes, 0)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<c_int>,
        function: CUfunction,
        block_size: c_int,
        dynamic_shared_bytes: usize,
        flags: c_uint,
    ) {
        max_active_blocks(blocks, function, block_size, dynamic_shared_bytes, flags)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        min_grid_size: Out<c_int>,
        block_size: Out<c_int>,
        function: CUfunction,
        shared_bytes_of: Option<BlockSizeToSharedBytes>,
        dynamic_shared_bytes: usize,
        limit: c_int,
    ) {
        max_potential_block_size(min_grid_size, block_size, function, shared_bytes_of, dynamic_shared_bytes, limit, 0)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        min_grid_size: Out<c_int>,
        block_size: Out<c_int>,
        function: CUfunction,
        shared_bytes_of: Option<BlockSizeToSharedBytes>,
        dynamic_shared_bytes: usize,
        limit: c_int,
        flags: c_uint,
    ) {
        max_potential_block_size(min_grid_size, block_size, function, shared_bytes_of, dynamic_shared_bytes, limit, flags)
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(
        bytes: Out<usize>,
        function: CUfunction,
        blocks: c_int,
        block_size: c_int,
    ) {
        with_kernel(function, |call, kernel| {
            let device = &call.profile_of(call.context()?)?.device;
            let blocks = u32::try_from(blocks).ok().filter(|blocks| *blocks > 0).ok_or(CudaError::InvalidValue)?;
            if blocks_per_multiprocessor(device, kernel, threads(block_size)?, 0) < blocks {
                return Err(CudaError::InvalidValue);
            }
            let per_block = device.max_shared_memory_per_multiprocessor / blocks;
            let per_block = per_block / device.shared_allocation_unit * device.shared_allocation_unit;
            let available = per_block.saturating_sub(device.reserved_shared_memory_per_block);
            let available = available.min(device.max_shared_memory_per_block_optin);
            bytes.set(available.saturating_sub(kernel.static_shared_bytes()) as usize)
        })
    }
}

fn max_active_blocks(
    blocks: Out<c_int>,
    function: CUfunction,
    block_size: c_int,
    dynamic_shared_bytes: usize,
    flags: c_uint,
) -> Result<(), CudaError> {
    with_kernel(function, |call, kernel| {
        if flags & !KNOWN_FLAGS != 0 {
            return Err(CudaError::InvalidValue);
        }
        let count = blocks_per_multiprocessor(
            &call.profile_of(call.context()?)?.device,
            kernel,
            threads(block_size)?,
            dynamic_shared_bytes,
        );
        blocks.set(count as c_int)
    })
}

/// The largest block of those with which the most threads are resident, and the least grid that fills the device.
fn max_potential_block_size(
    min_grid_size: Out<c_int>,
    block_size: Out<c_int>,
    function: CUfunction,
    shared_bytes_of: Option<BlockSizeToSharedBytes>,
    dynamic_shared_bytes: usize,
    limit: c_int,
    flags: c_uint,
) -> Result<(), CudaError> {
    with_kernel(function, |call, kernel| {
        if flags & !KNOWN_FLAGS != 0 {
            return Err(CudaError::InvalidValue);
        }
        let device = &call.profile_of(call.context()?)?.device;
        let most = max_threads(kernel, device);
        let most = u32::try_from(limit)
            .ok()
            .filter(|limit| *limit > 0)
            .map_or(most, |limit| most.min(limit));
        let mut best = (0, 0, 0);
        let sizes = std::iter::once(most).chain(
            (1..=most.saturating_sub(1) / device.warp_size)
                .rev()
                .map(|w| w * device.warp_size),
        );
        for size in sizes {
            let shared_bytes = match shared_bytes_of {
                // SAFETY: the caller's function, called with the signature of the header.
                Some(function) => unsafe { function(size as c_int) },
                None => dynamic_shared_bytes,
            };
            let blocks = blocks_per_multiprocessor(device, kernel, size, shared_bytes);
            if blocks * size > best.0 {
                best = (blocks * size, size, blocks);
            }
        }
        let (_, size, blocks) = best;
        min_grid_size.set((blocks * device.multiprocessor_count) as c_int)?;
        block_size.set(size as c_int)
    })
}

/// Blocks of `threads` threads that are resident on one multiprocessor at once: the least of what its threads, blocks,
/// registers and shared memory allow.
pub(in crate::driver) fn blocks_per_multiprocessor(
    device: &DeviceProfile,
    kernel: &ExecutableKernel,
    threads: u32,
    dynamic_shared_bytes: usize,
) -> u32 {
    let threads = threads.max(1);
    // As an H200 does: `.maxntid` bounds launches, not this count.
    if threads > device.max_threads_per_block {
        return 0;
    }
    let warps = threads.div_ceil(device.warp_size);
    let by_threads = device.max_threads_per_multiprocessor / device.warp_size / warps;
    let registers_per_warp = kernel.registers_per_thread().max(1) * device.warp_size;
    let registers_per_warp =
        registers_per_warp.next_multiple_of(device.register_allocation_unit.max(1));
    let unit = device.warp_allocation_unit.max(1);
    let by_registers =
        device.max_registers_per_multiprocessor / registers_per_warp / unit * unit / warps;
    let shared = u64::from(kernel.static_shared_bytes()) + dynamic_shared_bytes as u64;
    if shared > u64::from(device.max_shared_memory_per_block_optin) {
        return 0;
    }
    let shared = shared + u64::from(device.reserved_shared_memory_per_block);
    let shared = shared
        .next_multiple_of(u64::from(device.shared_allocation_unit.max(1)))
        .max(1);
    let by_shared = (u64::from(device.max_shared_memory_per_multiprocessor) / shared) as u32;
    by_threads
        .min(by_registers)
        .min(by_shared)
        .min(device.max_blocks_per_multiprocessor)
}

fn threads(block_size: c_int) -> Result<u32, CudaError> {
    u32::try_from(block_size)
        .ok()
        .filter(|size| *size > 0)
        .ok_or(CudaError::InvalidValue)
}

fn with_kernel(
    function: CUfunction,
    body: impl FnOnce(&Call, &ExecutableKernel) -> Result<(), CudaError>,
) -> Result<(), CudaError> {
    call(Cost::Other, |call| {
        call.context()?;
        let function = call.launched(function)?;
        call.check_executable(function)?;
        body(call, call.functions.get(function)?.kernel())
    })
}
