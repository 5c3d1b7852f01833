//! Out of memory: who holds it.

use std::collections::BTreeMap;

use super::{because, is_on};
use crate::driver::c_abi::errors::CudaError;
use crate::driver::simulation::simulator::Simulator;
use crate::memory::AllocationKind;

/// How many lines of the program are named.
const NAMED: usize = 3;

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
