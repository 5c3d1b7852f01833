//! Memory: who holds it when there is no more, who may reach it, and that it is gone.

use std::collections::BTreeMap;

use super::{because, is_on};
use crate::driver::c_abi::errors::CudaError;
use crate::driver::simulation::simulator::Simulator;
use crate::memory::AllocationKind;

/// How many lines of the program are named.
const NAMED: usize = 3;

/// `CUDA_ERROR_INVALID_VALUE` of a copy from or to page-locked memory that is gone.
pub(in crate::driver) fn because_freed(address: u64, bytes: u64) -> CudaError {
    because(
        CudaError::InvalidValue,
        format!("{address:#x} lies in page-locked host memory of {bytes} bytes that was freed"),
        "free page-locked memory (cuMemFreeHost) after the last copy that uses it",
    )
}

/// `CUDA_ERROR_INVALID_VALUE` of a copy or a memset that needs memory of another device's pool.
pub(in crate::driver) fn because_out_of_reach(owner: usize, device: usize) -> CudaError {
    because(
        CudaError::InvalidValue,
        format!(
            "the memory belongs to a pool of device {owner}, which device {device} may not access"
        ),
        format!(
            "give device {device} access to the pool (cuMemPoolSetAccess; cuCtxEnablePeerAccess does not reach pools), or copy with \
             cuMemcpyPeer"
        ),
    )
}

impl Simulator {
    /// `CUDA_ERROR_OUT_OF_MEMORY` of a request for `bytes` bytes, and the lines whose allocations hold most.
    pub(in crate::driver) fn because_full(&self, device: usize, bytes: u64) -> CudaError {
        if !is_on() {
            return CudaError::OutOfMemory;
        }
        let (free, total) = self.memory.device_memory(device);
        let owned = self.owned.iter().filter(|(_, owned)| {
            let context = self.contexts.get(owned.context);
            let is_there = context.is_ok_and(|context| context.device == device);
            is_there && owned.kind != AllocationKind::PageLocked
        });
        let owned = owned.map(|(address, _)| {
            let found = self.memory.find(*address);
            (*address, found.map_or(0, |found| found.len()))
        });
        let mut by_line: BTreeMap<String, (u64, usize)> = BTreeMap::new();
        for (address, bytes) in owned.chain(self.pools.live_on(device)) {
            let line = self.ordering.line_of_allocation(address);
            let line = line.unwrap_or_else(|| "an unknown line".to_owned());
            let (held, count) = by_line.entry(line).or_default();
            *held += bytes as u64;
            *count += 1;
        }
        let mut lines: Vec<_> = by_line.into_iter().collect();
        lines.sort_by(|(a, (x, _)), (b, (y, _))| y.cmp(x).then_with(|| a.cmp(b)));
        let named = lines.iter().take(NAMED).map(|(line, (held, count))| {
            let plural = if *count == 1 { "" } else { "s" };
            format!("{held} in {count} allocation{plural} of {line}")
        });
        let named: Vec<String> = named.collect();
        let holders = match named.is_empty() {
            true => String::new(),
            false => format!("; most is held by: {}", named.join(", ")),
        };
        because(
            CudaError::OutOfMemory,
            format!(
                "{bytes} bytes are asked for, and {free} of the device's {total} are free{holders}"
            ),
            "free what is no longer needed, trim pools (cuMemPoolTrimTo), or work in smaller pieces",
        )
    }
}
