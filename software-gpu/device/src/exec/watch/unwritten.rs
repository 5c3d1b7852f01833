//! Loads of device memory that was never written.
//!
//! A load is one of never-written bytes when no operation has written them before the grid and the thread's block has
//! not done so before the load. Whether another block of the same grid has depends on the order of blocks, so bytes
//! that another block stores to are not reported: something else may order the blocks. All other reports are exact; above
//! all, a kernel that updates fresh memory in place is found, although it writes the same bytes later.
//!
//! Bytes that may be padding are not reported: a structure is copied whole, and its members alone are written.
//!
//! Atomic operations other than exchanges read, and define nothing that was not defined before.

use std::ops::Range;
use std::sync::Arc;

use crate::memory::{Allocation, ByteMap, ByteSet};

use super::super::fault::{Access, FaultLocation};
use super::super::grid::Grid;
use super::super::memory::Site;

/// The grid is divided into this many parts, in the order of its blocks; suspicious loads are kept for each.
const PARTS: u64 = 1 << 14;
/// How many of them for each part: enough to find the first one that is a fault.
const KEPT: usize = 16;

/// A load of device memory that no operation has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeverWritten {
    /// The first thread that loads such bytes with this instruction.
    pub place: FaultLocation,
    /// Load or atomic operation.
    pub access: Access,
    /// The first such byte.
    pub address: u64,
    /// Bytes from there that this block's neighbouring threads load, none of them written.
    pub bytes: u64,
    /// Base and length of the allocation.
    pub allocation: (u64, u64),
}

/// Collects the suspicious loads of one host thread.
#[derive(Default)]
pub(super) struct Unwritten<'g> {
    /// The bytes written before the grid, in the allocations examined so far.
    before: Vec<(&'g Allocation, Arc<ByteSet>)>,
    /// The memory that the current block has stored to.
    block: ByteMap,
    /// The bytes stored by at least one block, and those stored by several.
    once: ByteMap,
    several: ByteMap,
    /// Loads of the current block, and of those that have ended.
    current: Vec<Suspect<'g>>,
    kept: Vec<Suspect<'g>>,
    /// The part that the last block belonged to, and how many of its loads are kept.
    part: (u64, usize),
}

/// Bytes that were loaded although they were not written before the grid or in the block so far.
#[derive(Clone)]
struct Suspect<'g> {
    allocation: &'g Allocation,
    start: usize,
    end: usize,
    block: u64,
    /// Linear index of the first thread in its block.
    thread: u32,
    /// Bytes from one thread's data to the next one's.
    stride: usize,
    line: u32,
    access: Access,
    /// The block itself stores there later.
    own: bool,
}

/// Who accesses memory.
#[derive(Clone, Copy)]
pub(in crate::exec) struct Accessor {
    /// Linear index of the first thread in its block.
    pub thread: u32,
    /// Bytes from one thread's data to the next one's.
    pub stride: usize,
}

impl<'g> Unwritten<'g> {
    /// An access to an allocation that was not written as a whole before the grid.
    #[cold]
    pub fn access(
        &mut self,
        site: &Site,
        access: Access,
        (allocation, offset, bytes): (&'g Allocation, usize, usize),
        accessor: Accessor,
    ) {
        if access == Access::Load || access == Access::Atomic && !site.exchanges {
            self.load(site, access, (allocation, offset, bytes), accessor);
        } else {
            self.block.insert(allocation, offset, bytes);
        }
    }

    fn load(
        &mut self,
        site: &Site,
        access: Access,
        (allocation, offset, bytes): (&'g Allocation, usize, usize),
        accessor: Accessor,
    ) {
        let range = offset..offset + bytes;
        let before = self.before(allocation);
        if self.before[before].1.covers(range.clone()) {
            return;
        }
        let stride = accessor.stride.max(1);
        let suspect = |gap: Range<usize>| Suspect {
            allocation,
            start: gap.start,
            end: gap.end,
            block: 0,
            thread: accessor.thread + ((gap.start - offset) / stride) as u32,
            stride,
            line: site.line,
            access,
            own: false,
        };
        let written = &self.before[before].1;
        let is_padding = |gap: &Range<usize>| {
            let first = offset + (gap.start - offset) / stride * stride;
            is_padding(written, &self.block, allocation, gap, first..first + stride)
        };
        for gap in written.gaps(range) {
            if self.block.has_none(allocation, gap.clone()) {
                if !is_padding(&gap) {
                    note(&mut self.current, suspect(gap));
                }
                continue;
            }
            for gap in self.block.gaps(allocation, gap) {
                if !is_padding(&gap) {
                    note(&mut self.current, suspect(gap));
                }
            }
        }
    }

    /// The place in `before` of what was written of this allocation.
    fn before(&mut self, allocation: &'g Allocation) -> usize {
        let mut known = self.before.iter();
        let known = known.position(|(other, _)| std::ptr::eq(*other, allocation));
        known.unwrap_or_else(|| {
            self.before.push((allocation, allocation.written()));
            self.before.len() - 1
        })
    }

    /// The block with linear index `rank` of `blocks` has ended.
    pub fn end_block(&mut self, rank: u64, blocks: u64) {
        if self.before.is_empty() && self.block.is_empty() {
            return;
        }
        let part = (u128::from(rank) * u128::from(PARTS) / u128::from(blocks.max(1))) as u64;
        if self.part.0 != part {
            self.part = (part, 0);
        }
        for suspect in std::mem::take(&mut self.current) {
            for suspect in suspect.split(&self.block) {
                if self.part.1 < KEPT {
                    self.part.1 += 1;
                    self.kept.push(Suspect {
                        block: rank,
                        ..suspect
                    });
                }
            }
        }
        self.several.add_common(&self.block, &self.once);
        self.once.merge(&self.block);
        self.block.clear();
    }

    /// The faults among the loads that several host threads have collected: the first one of each instruction.
    pub fn never_written(all: Vec<Self>, grid: &Grid<'_>) -> Vec<NeverWritten> {
        let (mut once, mut several) = (ByteMap::default(), ByteMap::default());
        let mut suspects = Vec::new();
        for one in all {
            several.add_common(&one.once, &once);
            several.merge(&one.several);
            once.merge(&one.once);
            suspects.extend(one.kept);
        }
        suspects.sort_by_key(|suspect| suspect.block);
        let mut found: Vec<NeverWritten> = Vec::new();
        for suspect in suspects {
            if found.iter().any(|known| known.place.line == suspect.line) {
                continue;
            }
            let written = if suspect.own { &several } else { &once };
            let gaps = written.gaps(suspect.allocation, suspect.start..suspect.end);
            if let Some(gap) = gaps.first() {
                found.push(suspect.told(gap.start, gap.end, grid));
            }
        }
        found
    }
}

/// Whether unwritten bytes among those that a lane loads may be the padding of a structure that it copies: other bytes are
/// written, and the gap reaches from one of these to where a larger member, or the next structure, begins.
fn is_padding(
    before: &ByteSet,
    block: &ByteMap,
    allocation: &Allocation,
    gap: &Range<usize>,
    loaded: Range<usize>,
) -> bool {
    /// No type has a larger alignment, so padding is less.
    const ALIGNMENT: usize = 16;
    let inside = loaded.start <= gap.start && gap.end <= loaded.end;
    if !inside || gap.len() == loaded.len() || gap.len() >= ALIGNMENT {
        return false;
    }
    let start = gap.start / ALIGNMENT * ALIGNMENT;
    let around = start..(start + ALIGNMENT).min(allocation.len());
    let mut gaps = before
        .gaps(around)
        .flat_map(|gap| block.gaps(allocation, gap));
    let whole = gaps.find(|whole| whole.contains(&gap.start));
    whole.is_some_and(|whole| {
        let alignment = (whole.len() + 1).next_power_of_two();
        whole.start > start && gap.end <= whole.end && whole.end.is_multiple_of(alignment)
    })
}

/// Adds a suspicious load of the current block, or extends one of the same instruction that it continues.
fn note<'g>(current: &mut Vec<Suspect<'g>>, next: Suspect<'g>) {
    let full = current.len() >= KEPT;
    let continued = current.iter_mut().rev().find(|last| {
        last.line == next.line
            && std::ptr::eq(last.allocation, next.allocation)
            && last.start <= next.start
            && next.start <= last.end
    });
    match continued {
        Some(last) => last.end = last.end.max(next.end),
        None if full => {}
        None => current.push(next),
    }
}

impl<'g> Suspect<'g> {
    /// What the block has stored to later, and what it has not.
    fn split(self, block: &ByteMap) -> Vec<Self> {
        let part = |start: usize, end, own| Self {
            start,
            end,
            own,
            thread: self.thread + ((start - self.start) / self.stride) as u32,
            ..self.clone()
        };
        let mut parts = Vec::new();
        let mut covered = self.start;
        for gap in block.gaps(self.allocation, self.start..self.end) {
            if covered < gap.start {
                parts.push(part(covered, gap.start, true));
            }
            parts.push(part(gap.start, gap.end, false));
            covered = gap.end;
        }
        if covered < self.end {
            parts.push(part(covered, self.end, true));
        }
        parts
    }

    fn told(&self, start: usize, end: usize, grid: &Grid<'_>) -> NeverWritten {
        let base = self.allocation.base();
        let thread = self.thread + ((start - self.start) / self.stride) as u32;
        NeverWritten {
            place: FaultLocation {
                kernel: grid.kernel.name().to_owned(),
                block: grid.block_index(self.block),
                thread: grid.thread(thread),
                line: self.line,
            },
            access: self.access,
            address: base + start as u64,
            bytes: (end - start) as u64,
            allocation: (base, self.allocation.len() as u64),
        }
    }
}
