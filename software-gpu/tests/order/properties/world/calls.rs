//! The calls of a program.

use std::ops::Range;

use software_gpu::memory::Accesses;
use software_gpu::order::{ContextId, EventId, HostAccess, StreamKind, ThreadId, ValueId};

use super::{FlagValue, Live, Pending, TestState, What};
use crate::properties::oracle::NodeNumber;
use crate::properties::steps::ProgramStep;

impl TestState {
    pub(super) fn step(&mut self, step: &ProgramStep) {
        // Steps that are impossible at their place are left out.
        let _ = self.try_step(step);
    }

    fn try_step(&mut self, step: &ProgramStep) -> Option<()> {
        match step {
            ProgramStep::CreateStream {
                thread,
                slot,
                context,
                kind,
            } => self.create_stream(*thread, *slot, *context, *kind),
            ProgramStep::DestroyStream { slot } => self.destroy_stream(*slot)?,
            ProgramStep::Launch {
                thread,
                slot,
                accesses,
            } => {
                self.submit(*thread, *slot, &[], accesses.clone())?;
            }
            ProgramStep::HostFunction {
                thread,
                slot,
                accesses,
            } => self.submit_more(*thread, *slot, What::HostFunction, accesses.clone())?,
            ProgramStep::WriteValue { thread, slot, flag } => {
                self.submit_more(*thread, *slot, What::Writes(*flag), Accesses::default())?;
            }
            ProgramStep::CountValue { thread, slot, flag } => {
                self.submit_more(*thread, *slot, What::Counts(*flag), Accesses::default())?;
            }
            ProgramStep::WaitValue { thread, slot, flag } => {
                self.submit_more(*thread, *slot, What::Waits(*flag), Accesses::default())?;
            }
            ProgramStep::HostWritesValue { flag } => self.host_writes_value(*flag),
            ProgramStep::Acquire { thread, range } => {
                self.calls += 1;
                self.checker.acquired(ThreadId(*thread), range.clone());
                let writers = self.oracle.writers(range, self.calls);
                self.thread(*thread).extend(writers);
            }
            ProgramStep::Graph {
                thread,
                slot,
                nodes,
            } => self.graph(*thread, *slot, nodes)?,
            ProgramStep::Execute { choice } => self.execute_one(*choice),
            ProgramStep::Record {
                thread,
                slot,
                event,
            } => self.record(*thread, *slot, *event)?,
            ProgramStep::Wait {
                thread,
                slot,
                event,
            } => self.wait(*thread, *slot, *event)?,
            ProgramStep::DestroyEvent { event } => {
                self.checker.event_destroyed(EventId(*event));
                self.events.remove(event);
            }
            ProgramStep::SynchroniseStream { thread, slot } => {
                self.synchronise_stream(*thread, *slot)?
            }
            ProgramStep::QueryStream { thread, slot } => {
                let content = self.content(*slot)?;
                let runs = |own: &Pending| {
                    content
                        .iter()
                        .any(|node| self.oracle.is_before(own.node, *node))
                };
                if !self.pending.iter().any(runs) {
                    self.synchronise_stream(*thread, *slot)?;
                }
            }
            ProgramStep::SynchroniseEvent { thread, event } => {
                let record = self.events.get(event).copied();
                self.synchronise(*thread, record.as_slice(), |checker| {
                    checker.event_synchronized(ThreadId(*thread), EventId(*event));
                });
            }
            ProgramStep::SynchroniseContext { thread, context } => {
                let own = self.submitted.iter().filter(|(of, ..)| of == context);
                let nodes: Vec<NodeNumber> = own.map(|(.., node)| *node).collect();
                self.synchronise(*thread, &nodes, |checker| {
                    checker.context_synchronized(ThreadId(*thread), ContextId(*context));
                });
            }
            ProgramStep::SynchroniseOperation { thread, choice } => {
                let index = choice.checked_rem(self.pending.len())?;
                let (operation, node) = (self.pending[index].operation, self.pending[index].node);
                self.synchronise(*thread, &[node], |checker| {
                    checker.operation_synchronized(ThreadId(*thread), operation);
                });
            }
            ProgramStep::HostAccess {
                thread,
                write,
                range,
            } => self.host_access(*thread, *write, range),
            ProgramStep::StartThread { parent, thread } => self.start_thread(*parent, *thread),
            ProgramStep::JoinThread { parent, thread } => self.join_thread(*parent, *thread)?,
            ProgramStep::Allocate { range } => self.allocate(range)?,
            ProgramStep::Free { choice } => self.free(*choice)?,
            ProgramStep::PoolAllocate {
                thread,
                slot,
                range,
            } => self.pool_allocate(*thread, *slot, range)?,
            ProgramStep::PoolFree {
                thread,
                slot,
                choice,
            } => self.pool_free(*thread, *slot, *choice)?,
            ProgramStep::HostPoolFree { thread, choice } => {
                self.host_pool_free(*thread, *choice)?
            }
        }
        Some(())
    }

    fn destroy_stream(&mut self, slot: usize) -> Option<()> {
        if self.streams[slot].as_ref()?.kind != StreamKind::Legacy {
            let gone = self.streams[slot].take()?;
            self.checker.stream_destroyed(gone.id);
        }
        Some(())
    }

    fn record(&mut self, thread: u64, slot: usize, event: u64) -> Option<()> {
        let operation = self.submit(thread, slot, &[], Accesses::default())?;
        let stream = self.streams[slot].as_ref()?.id;
        self.checker.recorded(EventId(event), stream, operation);
        self.events.insert(event, self.operations[&operation]);
        Some(())
    }

    fn wait(&mut self, thread: u64, slot: usize, event: u64) -> Option<()> {
        let stream = self.streams[slot].as_ref()?.id;
        self.checker
            .waited(ThreadId(thread), stream, EventId(event));
        let record = self.events.get(&event).copied();
        self.in_stream(thread, slot, &[record?]).map(|_| ())
    }

    fn synchronise_stream(&mut self, thread: u64, slot: usize) -> Option<()> {
        let content = self.content(slot)?;
        let stream = self.streams[slot].as_ref()?.id;
        self.synchronise(thread, &content, |checker| {
            checker.stream_synchronized(ThreadId(thread), stream);
        });
        Some(())
    }

    fn host_access(&mut self, thread: u64, write: bool, range: &Range<u64>) {
        let access = if write {
            HostAccess::Write
        } else {
            HostAccess::Read
        };
        let node = self.host_node(thread);
        self.checker
            .host_accessed(ThreadId(thread), access, range.clone(), "access".into());
        let mut accesses = Accesses::default();
        let part = if write {
            &mut accesses.writes
        } else {
            &mut accesses.reads
        };
        *part = range.clone().into();
        let found = self.oracle.accessed(node, self.calls, &accesses);
        self.expected.extend(found);
    }

    fn host_writes_value(&mut self, flag: usize) {
        self.watch(flag);
        let id = ValueId(self.number());
        self.checker.value_written(id, None);
        let written_by = self.host();
        self.values.push(FlagValue {
            flag,
            id,
            written_by,
        });
    }

    fn start_thread(&mut self, parent: u64, thread: u64) {
        if thread == 0 || self.threads.contains_key(&thread) {
            return;
        }
        let known = self.thread(parent).clone();
        self.threads.insert(thread, known);
        self.checker
            .thread_started(Some(ThreadId(parent)), ThreadId(thread));
    }

    fn join_thread(&mut self, parent: u64, thread: u64) -> Option<()> {
        if thread == 0 || thread == parent {
            return None;
        }
        let known = self.threads.remove(&thread)?;
        self.thread(parent).extend(known);
        self.checker
            .thread_joined(Some(ThreadId(parent)), ThreadId(thread));
        Some(())
    }

    fn is_free(&self, range: &Range<u64>) -> bool {
        !self
            .live
            .iter()
            .any(|live| live.range.start < range.end && range.start < live.range.end)
    }

    fn allocate(&mut self, range: &Range<u64>) -> Option<()> {
        self.is_free(range).then_some(())?;
        // A driver does not give memory away whose free still waits for something.
        let is_open = |pending: &Pending| {
            matches!(pending.what, What::Frees(allocation)
                if self.oracle.meets(allocation, range))
        };
        if self.pending.iter().any(is_open) {
            return None;
        }
        self.calls += 1;
        self.checker.allocated(range.clone(), "allocation".into());
        let allocation = self.oracle.allocated(range.clone(), self.calls, None);
        let range = range.clone();
        self.live.push(Live { allocation, range });
        Some(())
    }

    /// Waits for the device first.
    fn free(&mut self, choice: usize) -> Option<()> {
        let index = choice.checked_rem(self.live.len())?;
        while !self.pending.is_empty() {
            self.execute(0);
        }
        let gone = self.live.swap_remove(index);
        self.checker.freed(gone.range.clone());
        self.oracle.freed(gone.range);
        Some(())
    }

    fn pool_allocate(&mut self, thread: u64, slot: usize, range: &Range<u64>) -> Option<()> {
        self.is_free(range).then_some(())?;
        let operation = self.submit(thread, slot, &[], Accesses::default())?;
        self.calls += 1;
        self.checker
            .pool_allocated(operation, range.clone(), "allocation".into());
        let birth = self.operations[&operation];
        let allocation = self
            .oracle
            .allocated(range.clone(), self.calls, Some(birth));
        let range = range.clone();
        self.live.push(Live { allocation, range });
        Some(())
    }

    fn pool_free(&mut self, thread: u64, slot: usize, choice: usize) -> Option<()> {
        let index = choice.checked_rem(self.live.len())?;
        let is_open = self.is_open(thread, slot);
        let operation = self.submit(thread, slot, &[], Accesses::default())?;
        let gone = self.live.swap_remove(index);
        self.checker.pool_freed(operation, gone.range.start);
        let node = self.operations[&operation];
        if is_open {
            self.pending.last_mut()?.what = What::Frees(gone.allocation);
            self.oracle.pool_freed_later(gone.allocation, node);
        } else {
            let found = self.oracle.pool_freed(gone.allocation, node);
            self.expected.extend(found);
        }
        Some(())
    }

    /// Whether an operation submitted to the stream now gets its dependencies later.
    fn is_open(&mut self, thread: u64, slot: usize) -> bool {
        let before = self.predecessors(thread, slot).unwrap_or_default();
        let mut learning = self
            .pending
            .iter()
            .filter(|pending| matches!(pending.what, What::HostFunction | What::Waits(_)));
        learning.any(|pending| {
            before
                .iter()
                .any(|node| self.oracle.is_before(pending.node, *node))
        })
    }

    fn host_pool_free(&mut self, thread: u64, choice: usize) -> Option<()> {
        let index = choice.checked_rem(self.live.len())?;
        let gone = self.live.swap_remove(index);
        let node = self.host_node(thread);
        self.checker
            .pool_freed_by_host(ThreadId(thread), gone.range.start, "free".into());
        let found = self.oracle.pool_freed(gone.allocation, node);
        self.expected.extend(found);
        Some(())
    }

    /// Something that the thread does itself.
    fn host_node(&mut self, thread: u64) -> NodeNumber {
        let known = self.thread(thread).clone();
        let node = self.oracle.node(known);
        self.thread(thread).push(node);
        self.host_accesses.push(node);
        self.calls += 1;
        node
    }
}
