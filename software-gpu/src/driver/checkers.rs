//! What becomes of what is seen while operations are executed: access sets for the order of operations, marks on
//! memory that was written, and reports.
//!
//! Memory counts as written from the moment at which a kernel that stores to it is executed, or a copy or memset lands
//! there. A program in which somebody reads before that lacks an order, or a write.

use super::operation::{Effect, Operation};
use super::simulator::Simulator;
use crate::exec::{NeverWritten, Observed};
use crate::memory::AddressSpace;
use crate::reports::{self, Kind};
use crate::timeline::OpId;

impl Simulator {
    /// Takes note of what was seen of a kernel that has just been executed; nothing when the checkers are off.
    pub(super) fn kernel_observed(&mut self, op: OpId, observed: Option<Observed>) {
        let Some(observed) = observed else {
            self.memory.assume_written();
            return;
        };
        for finding in &observed.never_written {
            report_load(finding, &self.memory);
        }
        let accesses = &observed.accesses;
        self.memory.mark_written(&accesses.writes);
        self.memory.mark_written(&accesses.atomics);
        if let Some(Effect::Kernel(launch)) = self
            .operations
            .get_mut(&op)
            .map(|operation| &mut operation.effect)
        {
            launch.accesses = Some(observed.accesses);
        }
    }

    /// Takes note of an operation other than a kernel whose modelled end has come, before it takes effect.
    pub(super) fn check_ended(&mut self, operation: &Operation) {
        if let Effect::Allocate(allocation) = &operation.effect {
            let start = allocation.address;
            self.memory
                .forget_written(start..start + allocation.bytes as u64);
        }
    }
}

/// A kernel has loaded what nobody has written.
fn report_load(finding: &NeverWritten, memory: &AddressSpace) {
    let place = &finding.place;
    let key = format!("{} {}", place.kernel, place.line);
    reports::add(Kind::NeverWritten, key, || {
        format!(
            "never written: {place}: {} of memory that nobody has written\n  {} bytes from {:#x} on, {}\n  write them \
             before with a copy, a memset or a kernel",
            finding.access,
            finding.bytes,
            finding.address,
            location(finding.address, memory),
        )
    });
}

/// Where in which allocation an address is, in words.
fn location(address: u64, memory: &AddressSpace) -> String {
    match memory.nearest_range(address) {
        Some(range) if range.contains(&address) => format!(
            "at offset {} of the allocation of {} bytes at {:#x}",
            address - range.start,
            range.end - range.start,
            range.start
        ),
        _ => "in no allocation".to_owned(),
    }
}
