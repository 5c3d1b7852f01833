//! Happens-before, and what it leaves open: races between operations, and memory used outside of its life.
//!
//! The [`Checker`] is told what a program does and knows nothing of the driver. Order comes from
//!
//! - streams: each operation comes after those before it;
//! - events: a wait joins what the event stands for at the time of the call, its last record;
//! - the legacy stream: its operations come after all earlier ones of the context's blocking streams, and those after
//!   its earlier ones. Non-blocking streams take no part;
//! - host threads: an operation comes after what its submitting thread has waited for, and a successful query is a wait;
//! - graphs: explicit dependencies.
//!
//! Host threads that are not registered share one clock: the program's own locks and channels are invisible here, and a
//! false report is worse than a missing one. Times play no part: what happened to come out right is reported as well.
//!
//! How it works: each stream, thread and branch of a graph is a chain of steps (`chains`) with its place in vector clocks
//! (`clock`, `happens_before`). Each byte remembers the accesses that a later one can still conflict with (`shadow`), in the
//! allocation that it belonged to for the operation in question (`owners`, `memory`). A conflict becomes a [`Finding`]
//! that says what to add (`advice`) and what almost was the right thing (`notes`).

mod advice;
mod chains;
mod checker;
mod clock;
mod description;
mod finding;
mod happens_before;
mod ids;
#[cfg(test)]
mod long_runs;
mod memory;
mod notes;
mod owners;
mod shadow;
mod site;

pub use checker::{Checker, HostAccess};
pub use description::{Description, Locate};
pub use finding::{Finding, NoEffect, Owner, Party, Rule, Runs};
pub use ids::{ContextId, EventId, OperationId, StreamId, StreamKind, ThreadId};
