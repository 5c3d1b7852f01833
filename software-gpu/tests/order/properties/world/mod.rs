//! Runs a program against the checker and the oracle at once.

mod calls;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use software_gpu::memory::Accesses;
use software_gpu::order::{
    AccessSite, Checker, ContextId, Finding, OperationId, OrderRule, StreamId, StreamKind,
    ThreadId, ValueId, WaitId,
};

use crate::properties::oracle::{Expected, NodeNumber, Oracle};
use crate::properties::steps::{CONTEXTS, FLAGS, ProgramStep, STREAMS};

struct TestStream {
    id: StreamId,
    context: u64,
    kind: StreamKind,
    /// The creator's clock and all submitted operations.
    nodes: Vec<NodeNumber>,
}

struct Pending {
    operation: OperationId,
    node: NodeNumber,
    called: usize,
    accesses: Accesses,
    what: What,
}

/// The effects of an operation other than its accesses.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Nothing,
    HostFunction,
    /// It writes this flag.
    Writes(usize),
    /// It continues with the flag's value.
    Counts(usize),
    /// It waits for a value of this flag.
    Waits(usize),
    /// It frees this allocation of the oracle.
    Frees(usize),
}

/// A value that a flag has had, and what wrote it.
struct FlagValue {
    flag: usize,
    id: ValueId,
    written_by: Vec<NodeNumber>,
}

struct Live {
    allocation: usize,
    range: Range<u64>,
}

/// A running program, known to the checker and the oracle.
pub struct TestState {
    checker: Checker,
    oracle: Oracle,
    streams: Vec<Option<TestStream>>,
    threads: BTreeMap<u64, Vec<NodeNumber>>,
    events: BTreeMap<u64, NodeNumber>,
    /// All nodes of all streams that there ever were, with their context and the stream's kind.
    submitted: Vec<(u64, StreamKind, NodeNumber)>,
    pending: Vec<Pending>,
    live: Vec<Live>,
    values: Vec<FlagValue>,
    operations: BTreeMap<OperationId, NodeNumber>,
    host_accesses: Vec<NodeNumber>,
    calls: usize,
    last: u64,
    expected: Vec<Expected>,
}

/// Where checker and oracle differ.
#[derive(Debug)]
pub struct Difference {
    /// The step, from 0; that behind the last one executes what is left.
    pub step: usize,
    /// The checker's findings.
    pub found: Vec<Expected>,
    /// The oracle's result.
    pub expected: Vec<Expected>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "in step {}", self.step)?;
        writeln!(f, "the checker found {:#?}", self.found)?;
        write!(f, "the oracle {:#?}", self.expected)
    }
}

/// Runs the whole program: which rules were broken, or the first difference.
pub fn run(program: &[ProgramStep], room: usize) -> Result<Vec<OrderRule>, Difference> {
    let mut world = TestState::new(room);
    let mut rules = Vec::new();
    for (index, step) in program.iter().enumerate() {
        world.step(step);
        world.compare(index, &mut rules)?;
    }
    let mut choice = 1;
    while !world.pending.is_empty() {
        world.execute_one(choice);
        choice = choice * 5 + 3;
        world.compare(program.len(), &mut rules)?;
        choice %= 1009;
    }
    Ok(rules)
}

impl TestState {
    fn new(room: usize) -> Self {
        let mut world = Self {
            checker: Checker::with_room(room),
            oracle: Oracle::default(),
            streams: (0..STREAMS).map(|_| None).collect(),
            threads: BTreeMap::from([(0, Vec::new())]),
            events: BTreeMap::new(),
            submitted: Vec::new(),
            pending: Vec::new(),
            live: Vec::new(),
            values: Vec::new(),
            operations: BTreeMap::new(),
            host_accesses: Vec::new(),
            calls: 0,
            last: 0,
            expected: Vec::new(),
        };
        for context in 0..CONTEXTS {
            world.create_stream(0, context as usize, context, StreamKind::Legacy);
        }
        world
    }

    fn compare(&mut self, step: usize, rules: &mut Vec<OrderRule>) -> Result<(), Difference> {
        let found: Vec<_> = self
            .checker
            .take_findings()
            .iter()
            .map(|finding| self.told(finding))
            .collect();
        let expected = std::mem::take(&mut self.expected);
        rules.extend(expected.iter().map(|expected| expected.rule));
        if found == expected {
            return Ok(());
        }
        Err(Difference {
            step,
            found,
            expected,
        })
    }

    /// A finding in the oracle's terms.
    fn told(&self, finding: &Finding) -> Expected {
        let node = |place: &AccessSite| match place {
            AccessSite::Host { access, .. } => self.host_accesses[*access as usize - 1],
            AccessSite::Stream { operation, .. } | AccessSite::Node { operation, .. } => {
                self.operations[operation]
            }
        };
        Expected {
            rule: finding.rule,
            first: node(&finding.first.place),
            second: node(&finding.second.place),
            bytes: finding.bytes.clone(),
        }
    }

    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Unregistered threads share one clock.
    fn thread(&mut self, thread: u64) -> &mut Vec<NodeNumber> {
        let thread = if self.threads.contains_key(&thread) {
            thread
        } else {
            0
        };
        self.threads.entry(thread).or_default()
    }

    fn create_stream(&mut self, thread: u64, slot: usize, context: u64, kind: StreamKind) {
        if self.streams[slot].is_some() {
            return;
        }
        let id = StreamId(self.number());
        match kind {
            StreamKind::Legacy => {
                self.checker
                    .context_created(ThreadId(thread), ContextId(context), id)
            }
            _ => self
                .checker
                .stream_created(ThreadId(thread), id, ContextId(context), kind),
        }
        let nodes = self.thread(thread).clone();
        self.streams[slot] = Some(TestStream {
            id,
            context,
            kind,
            nodes,
        });
    }

    /// What something submitted now comes after.
    fn predecessors(&mut self, thread: u64, slot: usize) -> Option<Vec<NodeNumber>> {
        let mut after = self.thread(thread).clone();
        let stream = self.streams[slot].as_ref()?;
        after.extend(&stream.nodes);
        let implicit = match stream.kind {
            StreamKind::Legacy => Some(StreamKind::Blocking),
            StreamKind::Blocking => Some(StreamKind::Legacy),
            StreamKind::NonBlocking => None,
        };
        let implied = self
            .submitted
            .iter()
            .filter(|(context, kind, _)| *context == stream.context && Some(*kind) == implicit);
        after.extend(implied.map(|(.., node)| *node));
        Some(after)
    }

    /// A node in a stream, behind the stream's rules and `after`.
    fn in_stream(&mut self, thread: u64, slot: usize, after: &[NodeNumber]) -> Option<NodeNumber> {
        let mut all = self.predecessors(thread, slot)?;
        all.extend(after);
        let node = self.oracle.node(all);
        let stream = self.streams[slot].as_mut()?;
        stream.nodes.push(node);
        self.submitted.push((stream.context, stream.kind, node));
        Some(node)
    }

    fn submit(
        &mut self,
        thread: u64,
        slot: usize,
        after: &[OperationId],
        accesses: Accesses,
    ) -> Option<OperationId> {
        let nodes: Vec<NodeNumber> = after
            .iter()
            .map(|operation| self.operations[operation])
            .collect();
        let node = self.in_stream(thread, slot, &nodes)?;
        let stream = self.streams[slot].as_ref()?.id;
        let operation = OperationId(self.number());
        self.checker.submitted(
            ThreadId(thread),
            stream,
            operation,
            after,
            "operation".into(),
        );
        self.enqueue(operation, node, accesses, What::Nothing);
        Some(operation)
    }

    /// As [`submit`](Self::submit), for what does more than to touch memory.
    fn submit_more(
        &mut self,
        thread: u64,
        slot: usize,
        what: What,
        accesses: Accesses,
    ) -> Option<()> {
        if let What::Writes(flag) | What::Counts(flag) | What::Waits(flag) = what {
            self.streams[slot].as_ref()?;
            self.watch(flag);
        }
        let operation = self.submit(thread, slot, &[], accesses)?;
        if matches!(what, What::HostFunction | What::Waits(_)) {
            self.checker.learns(operation);
        }
        self.pending.last_mut()?.what = what;
        Some(())
    }

    /// What is in the flag when it is first used counts as a value of it.
    fn watch(&mut self, flag: usize) {
        if self.values.iter().all(|value| value.flag != flag) {
            let id = ValueId(self.number());
            self.calls += 1;
            self.checker.value_watched(id, FLAGS[flag].clone());
            let written_by = self.oracle.writers(&FLAGS[flag], self.calls);
            let value = FlagValue {
                flag,
                id,
                written_by,
            };
            self.values.push(value);
        }
    }

    /// What all threads of the host together have waited for and done.
    fn host(&self) -> Vec<NodeNumber> {
        self.threads.values().flatten().copied().collect()
    }

    fn enqueue(
        &mut self,
        operation: OperationId,
        node: NodeNumber,
        accesses: Accesses,
        what: What,
    ) {
        self.calls += 1;
        self.operations.insert(operation, node);
        self.pending.push(Pending {
            operation,
            node,
            called: self.calls,
            accesses,
            what,
        });
    }

    fn graph(&mut self, thread: u64, slot: usize, nodes: &[(u8, bool, Accesses)]) -> Option<()> {
        let launch = self.submit(thread, slot, &[], Accesses::default())?;
        let mut all = Vec::new();
        for (dependencies, is_function, accesses) in nodes {
            let chosen = |index: &usize| dependencies >> index & 1 == 1;
            let after: Vec<OperationId> = (0..all.len())
                .filter(chosen)
                .map(|index| all[index])
                .collect();
            let operation = OperationId(self.number());
            self.checker
                .submitted_node(ThreadId(thread), launch, operation, &after, "node".into());
            let before = after
                .iter()
                .chain([&launch])
                .map(|operation| self.operations[operation]);
            let node = self.oracle.node(before.collect::<Vec<_>>());
            let mut what = What::Nothing;
            if *is_function {
                self.checker.learns(operation);
                what = What::HostFunction;
            }
            self.enqueue(operation, node, accesses.clone(), what);
            all.push(operation);
        }
        self.submit(thread, slot, &all, Accesses::default())
            .map(|_| ())
    }

    /// Executes one of the operations behind which nothing waits.
    fn execute_one(&mut self, choice: usize) {
        let ready = |own: &Pending| {
            let waits = |other: &Pending| {
                other.node != own.node && self.oracle.is_before(other.node, own.node)
            };
            !self.pending.iter().any(waits)
        };
        let ready: Vec<usize> = (0..self.pending.len())
            .filter(|index| ready(&self.pending[*index]))
            .collect();
        if !ready.is_empty() {
            self.execute(ready[choice % ready.len()]);
        }
    }

    fn execute(&mut self, index: usize) {
        let run = self.pending.remove(index);
        if run.what == What::HostFunction {
            self.checker.host_function_began(run.operation);
            let host = self.host();
            self.oracle.comes_after(run.node, host);
        }
        if let What::Waits(flag) = run.what {
            self.find_value(&run, flag);
        }
        if let What::Frees(allocation) = run.what {
            self.checker.began(run.operation);
            let found = self.oracle.pool_freed(allocation, run.node);
            self.expected.extend(found);
        }
        if run.accesses != Accesses::default() {
            self.checker.accessed(run.operation, &run.accesses);
            let found = self.oracle.accessed(run.node, run.called, &run.accesses);
            self.expected.extend(found);
        }
        match run.what {
            What::HostFunction => {
                self.checker.host_function_returned(run.operation);
                let threads = self.threads.values_mut();
                threads.for_each(|thread| thread.push(run.node));
            }
            What::Writes(flag) | What::Counts(flag) => {
                let id = ValueId(self.number());
                self.checker.accessed(run.operation, &flag_accesses(flag));
                let found = self
                    .oracle
                    .accessed(run.node, run.called, &flag_accesses(flag));
                self.expected.extend(found);
                self.checker.value_written(id, Some(run.operation));
                let mut written_by = vec![run.node];
                let before = self.values.iter().rfind(|value| value.flag == flag);
                if let (What::Counts(_), Some(before)) = (run.what, before) {
                    written_by.extend(&before.written_by);
                    self.checker.value_continued(id, before.id);
                }
                self.values.push(FlagValue {
                    flag,
                    id,
                    written_by,
                });
            }
            What::Nothing | What::Waits(_) | What::Frees(_) => {}
        }
        self.checker.ended(run.operation);
    }

    /// The wait is over, after one of the flag's values.
    fn find_value(&mut self, wait: &Pending, flag: usize) {
        let own: Vec<_> = self
            .values
            .iter()
            .filter(|value| value.flag == flag)
            .collect();
        let found = own[own.len() - 1 - (wait.called / 3) % own.len()];
        self.oracle
            .comes_after(wait.node, found.written_by.iter().copied());
        self.checker
            .value_found(wait.operation, FLAGS[flag].clone(), Some(found.id));
        let found = self
            .oracle
            .accessed(wait.node, wait.called, &flag_accesses(flag));
        self.expected.extend(found);
    }

    /// Executes what comes before one of those nodes, or is one.
    fn complete(&mut self, nodes: &[NodeNumber]) {
        let awaited = |own: &Pending, oracle: &Oracle| {
            nodes.iter().any(|node| oracle.is_before(own.node, *node))
        };
        while let Some(first) =
            (0..self.pending.len()).find(|index| awaited(&self.pending[*index], &self.oracle))
        {
            self.execute(first);
        }
    }

    /// What a synchronisation with the stream waits for.
    fn content(&self, slot: usize) -> Option<Vec<NodeNumber>> {
        let stream = self.streams[slot].as_ref()?;
        let mut nodes = stream.nodes.clone();
        if stream.kind == StreamKind::Legacy {
            let blocking = self.submitted.iter().filter(|(context, kind, _)| {
                *context == stream.context && *kind == StreamKind::Blocking
            });
            nodes.extend(blocking.map(|(.., node)| *node));
        }
        Some(nodes)
    }

    /// The thread waits for the nodes, as `tell` reports to the checker.
    fn synchronise(&mut self, thread: u64, nodes: &[NodeNumber], tell: impl FnOnce(&mut Checker)) {
        let wait = WaitId(thread);
        self.checker.waits(wait, tell);
        self.complete(nodes);
        self.checker.returned(wait);
        self.thread(thread).extend(nodes);
    }
}

fn flag_accesses(flag: usize) -> Accesses {
    Accesses {
        atomics: FLAGS[flag].clone().into(),
        ..Accesses::default()
    }
}
