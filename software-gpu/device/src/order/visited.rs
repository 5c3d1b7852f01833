//! How much was looked at: the cost that tests look at, and nothing counts elsewhere.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static NODES: Cell<usize> = const { Cell::new(0) };
    static GROUPS: Cell<usize> = const { Cell::new(0) };
    static CELLS: Cell<usize> = const { Cell::new(0) };
    static ENTRIES: Cell<usize> = const { Cell::new(0) };
}

/// A node of a clock.
pub(super) fn node() {
    #[cfg(test)]
    NODES.set(NODES.get() + 1);
}

/// A group of ranges.
pub(super) fn group() {
    #[cfg(test)]
    GROUPS.set(GROUPS.get() + 1);
}

/// A cell, or a range of a group.
pub(super) fn cell() {
    #[cfg(test)]
    CELLS.set(CELLS.get() + 1);
}

/// An access in a history.
pub(super) fn entry() {
    #[cfg(test)]
    ENTRIES.set(ENTRIES.get() + 1);
}

/// The nodes so far.
#[cfg(test)]
pub(super) fn nodes() -> usize {
    NODES.get()
}

/// The groups so far.
#[cfg(test)]
pub(super) fn groups() -> usize {
    GROUPS.get()
}

/// All of it so far.
#[cfg(test)]
pub(super) fn all() -> usize {
    NODES.get() + GROUPS.get() + CELLS.get() + ENTRIES.get()
}
