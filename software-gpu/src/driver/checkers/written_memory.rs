//! Which memory counts as written, and reports of copies that read other memory.
//!
//! Memory counts as written as soon as a kernel that stores to it is executed, or a copy or memset lands there. A program
//! that reads it earlier lacks a dependency, or a write.

use std::ops::Range;

use super::kernel_reports;
use crate::activity;
use crate::driver::simulation::operation::{Copy, Effect, Operation};
use crate::driver::simulation::simulator::Simulator;
use crate::exec::Observed;
use crate::memory::{Accesses, AddressSpace, ByteRanges};
use crate::ptx::SourceLines;
use crate::reports::{self, Kind};
use crate::timeline::{CopyKind, OpId};

impl Simulator {
    /// Records what was seen of a kernel that has just been executed; nothing when the checkers are off.
    pub(in crate::driver) fn kernel_observed(&mut self, op: OpId, observed: Option<Observed>) {
        let Some(observed) = observed else {
            self.memory.assume_written();
            return;
        };
        let launch = match self.operations.get(&op).map(|operation| &operation.effect) {
            Some(Effect::Kernel(launch)) => Some(launch),
            _ => None,
        };
        let lines = launch.map(|launch| launch.source_lines());
        kernel_reports::report(
            activity::correlation(op.index()),
            &observed,
            &self.memory,
            lines.unwrap_or(&SourceLines::default()),
        );
        let early = observed.dependent.iter().map(|dependent| &dependent.early);
        for accesses in early.chain([&observed.accesses]) {
            self.memory.mark_written(&accesses.writes);
            self.memory.mark_written(&accesses.atomics);
        }
        let operation = self.operations.get(&op);
        if let Some(Effect::Kernel(launch)) = operation.map(|operation| &operation.effect) {
            self.ordering.executed(op, launch, &observed);
            self.host_accesses
                .device_accesses(&self.ordering, op, &observed.accesses);
        }
    }

    /// Records an operation other than a kernel at its modelled end, before it takes effect.
    pub(in crate::driver) fn check_ended(&mut self, operation: &Operation) {
        match &operation.effect {
            Effect::Allocate(allocation) => {
                let start = allocation.address;
                self.memory
                    .forget_written(start..start + allocation.bytes as u64);
            }
            Effect::Copy(copy) => copied(operation, copy, &self.memory),
            Effect::Set(set) => self.memory.mark_written(&set.accesses().writes),
            Effect::WriteValue(value) => self.memory.mark_written(&value.range().into()),
            _ => {}
        }
    }
}

/// A copy lands. Within the device it takes the state of its source along: moving memory that was never written is not a
/// mistake, using its contents is.
fn copied(operation: &Operation, copy: &Copy, memory: &AddressSpace) {
    let Accesses { reads, writes, .. } = &copy.accesses();
    let unwritten = reads.iter().find_map(|range| memory.first_unwritten(range));
    match (unwritten, copy.kind) {
        (None, _) => {}
        (
            Some(_),
            CopyKind::DeviceToDevice | CopyKind::PeerToPeer { .. } | CopyKind::PeerThroughHost,
        ) => {
            return moved(reads, writes, memory);
        }
        (Some(range), _) => report_copy(operation.correlation, copy, range, memory),
    }
    memory.mark_written(writes);
}

/// Marks in `to` what is written in `from`, range by range.
fn moved(from: &ByteRanges, to: &ByteRanges, memory: &AddressSpace) {
    let length = |range: &Range<u64>| range.end - range.start;
    if !from
        .iter()
        .map(|range| length(&range))
        .eq(to.iter().map(|range| length(&range)))
    {
        // Rows of different forms: to consider them written is to miss a mistake, not to make one up.
        return memory.mark_written(to);
    }
    let written: ByteRanges = from
        .iter()
        .zip(to.iter())
        .flat_map(|(from, to)| {
            let start = from.start;
            let parts = memory.written(from);
            parts
                .into_iter()
                .map(move |part| part.start - start + to.start..part.end - start + to.start)
        })
        .collect();
    to.iter().for_each(|range| memory.forget_written(range));
    memory.mark_written(&written);
}

/// A copy takes what was never written to the host.
fn report_copy(operation: u64, copy: &Copy, range: Range<u64>, memory: &AddressSpace) {
    let allocation = memory.nearest_range(range.start);
    let key = format!("{:?} {allocation:x?}", copy.kind);
    reports::add(Kind::NeverWritten, key, vec![operation], || {
        format!(
            "never written: a copy of {} bytes from the device to the host takes memory that was never written\n  {} \
             from {:#x} on, {}\n  write them first with a copy, a memset or a kernel",
            copy.bytes(),
            count(range.end - range.start),
            range.start,
            location(range.start, memory),
        )
    });
}

/// Where in which allocation an address is, in words.
pub(in crate::driver) fn location(address: u64, memory: &AddressSpace) -> String {
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

/// A number of bytes.
pub(in crate::driver) fn count(bytes: u64) -> String {
    format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" })
}
