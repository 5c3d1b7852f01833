//! Lowered operations.

use super::context::Context;

/// A place in a frame's register file, in bytes from its start: a row of 32 cells, or a predicate (one bit per lane).
pub(super) type Slot = u32;

/// The action of an operation. All operands are in the operation.
pub(super) type Handler = unsafe fn(&mut Context<'_>, &Op);

/// One warp-wide operation: a handler and its pre-resolved operands.
#[derive(Clone, Copy)]
pub(super) struct Op {
    /// The code.
    pub run: Handler,
    /// Destination.
    pub d: Slot,
    /// First source.
    pub a: Slot,
    /// Second source.
    pub b: Slot,
    /// Third source.
    pub c: Slot,
    /// A second destination or fourth source.
    pub e: Slot,
    /// A small constant, or the index of a side-table entry.
    pub x: u32,
}
