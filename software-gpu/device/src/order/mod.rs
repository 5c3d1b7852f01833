//! The ordering checker: finds operations that race, and memory that is used outside of its life, by happens-before.
//!
//! The algorithm is that of vector clocks (Fidge, 1988; Mattern, 1989), with shadow memory per byte range as in FastTrack
//! (Flanagan and Freund, PLDI 2009): an access races if it conflicts with an earlier one that does not happen before it. The
//! driver reports each call to the [`Checker`], which does not depend on the driver. Happens-before comes from
//!
//! - streams: each operation comes after those before it;
//! - events: a wait joins what the event stands for at the time of the call, its last record;
//! - the legacy stream: its operations come after all earlier ones of the context's blocking streams, and those after
//!   its earlier ones. Non-blocking streams take no part;
//! - host threads: whatever a thread has waited for happens before what it submits, and a successful query is a wait;
//! - values in memory: a wait for one comes after the write that released it, and after those that it has gone on with;
//! - host functions: one comes after whatever the host's threads have done when it runs, and they continue after it;
//! - graphs: explicit dependencies.
//!
//! A kernel with programmatic stream serialisation may begin before the kernel before it has ended: what it touches before
//! its `griddepcontrol.wait` does not come after that one.
//!
//! Host threads that are not registered share one clock: the program's own locks and channels are invisible here, and a
//! false report is worse than a missing one. Times play no part: a race whose result was right is reported as well.
//!
//! How a driver reports its calls:
//!
//! | call | methods of the checker |
//! |---|---|
//! | a copy, memset or launch | `submitted`, `accessed` when it is executed, `ended` |
//! | a launch, beside that | `launched`, and `accessed_early` before `accessed` |
//! | `cuLaunchHostFunc` | `submitted`, `learns`, `host_function_began`, `accessed`, `host_function_returned`, `ended` |
//! | `cuStreamWaitValue32` | `value_watched`, `submitted`, `learns`, `value_found`, `ended` |
//! | `cuStreamWriteValue32` | `value_watched`, `submitted`, `accessed`, `value_written`, `ended` |
//! | anything else that changes a watched value | `value_written`, and `value_continued` if it continues with what was there |
//! | `cuEventRecord` | `submitted`, `recorded` |
//! | `cuStreamWaitEvent` | `waited`; a separate operation for the wait is allowed and not needed |
//! | `cuStreamSynchronize`, `cuStreamQuery` that succeeds | `stream_synchronized` |
//! | `cuEventSynchronize`; `cuEventQuery` and `cuEventElapsedTime` that succeed | `event_synchronized` |
//! | `cuCtxSynchronize` | `context_synchronized` |
//! | a copy that returns when it is done | `submitted`, `operation_synchronized` |
//! | `cuMemAlloc`, `cuMemHostAlloc`, `cuMemHostRegister` | `allocated` |
//! | `cuMemFree`, `cuMemFreeHost`, `cuMemHostUnregister`, trimming a pool | `freed` |
//! | `cuMemAllocAsync` | `submitted`, `pool_allocated` at once |
//! | `cuMemFreeAsync` | `submitted`, `pool_freed` at once, `began` when it runs |
//! | `cuMemFree` of a pool's memory | `pool_freed_by_host` |
//! | `cuGraphLaunch` | `submitted` (beginning), `submitted_node` for each node, `submitted` (end, after the last nodes) |
//!
//! Between nodes, an event record node is also reported as `recorded`, an event wait node as `node_waited` before its dependents
//! are submitted, and an allocation or free node as `pool_allocated` or `pool_freed`.
//!
//! Launches of one executable graph follow each other, in every stream: that is an event of the driver's own
//! ([`EventId::of_the_driver`]), recorded at the end of each launch and waited for before the next one.
//!
//! How it works: each stream, thread and branch of a graph is a chain of steps (`chains`) with its place in vector clocks (`clock`,
//! `happens_before`). Dependencies that are known only when an operation runs are added later (`known`). Each byte remembers the accesses that a
//! later one can still conflict with (`shadow`), in the allocation that it belonged to for the operation in question (`owners`, `memory`). A conflict
//! becomes a [`Finding`] that says what to add (`advice`) and what almost was the right thing (`notes`), or that the repair of an earlier one also
//! repairs this one (`repairs`).

mod advice;
mod chains;
mod checker;
mod clock;
mod description;
mod finding;
mod happens_before;
mod host_clock;
mod ids;
mod kinds;
mod known;
#[cfg(test)]
mod long_runs;
mod memory;
mod names;
mod notes;
mod owners;
mod repairs;
mod shadow;
mod site;
mod visited;

pub use checker::{Checker, HostAccess};
pub use description::{Description, Locate, SourceLine, called_from, identity_of};
pub use finding::{Finding, OrderRule, Owner, Party, Repaired};
pub use host_clock::{HostClock, OperationEpoch};
pub use ids::{ContextId, EventId, OperationId, StreamId, StreamKind, ThreadId, ValueId, WaitId};
pub use site::AccessSite;
