//! The simulation itself: what happens next, and what follows from it.

use std::collections::{BTreeSet, VecDeque};

use super::agenda::{Agenda, Event};
use super::grids::Grids;
use super::multiprocessors::Footprint;
use super::operations::{Operation, Operations};
use super::profile::Profile;
use super::queues::{Queues, Unit};
use super::rates::DeviceMemory;
use super::streams::Streams;
use super::transfers::{Route, Transfers};
use super::{Happening, KernelCost, OpId, StreamId, Time, Work};

/// The simulation of one device. See the module.
#[derive(Debug)]
pub struct Timeline {
    profile: Profile,
    now: Time,
    operations: Operations,
    streams: Streams,
    queues: Queues,
    agenda: Agenda,
    transfers: Transfers,
    grids: Grids,
    memory: DeviceMemory,
    front_end: FrontEnd,
    host_functions: HostFunctions,
    /// Happenings not yet reported.
    happenings: VecDeque<Happening>,
    /// Kernels and host functions that started and whose cost the caller has not given yet.
    unanswered: BTreeSet<OpId>,
    changed: Changed,
}

/// What has to be worked out anew at the end of an instant.
#[derive(Debug, Default)]
struct Changed {
    room: bool,
    rates: bool,
}

/// Starts grids, most urgent first.
#[derive(Debug, Default)]
struct FrontEnd {
    ready: BTreeSet<(i32, Time, OpId)>,
    resident: u32,
    free_at: Time,
    /// When it looks again, if it had to wait for `free_at`.
    wakes_at: Option<Time>,
}

/// The driver's thread that runs host functions, one at a time.
#[derive(Debug, Default)]
struct HostFunctions {
    ready: BTreeSet<(Time, OpId)>,
    busy: bool,
}

impl Timeline {
    /// A device that is idle. `connections` is `CUDA_DEVICE_MAX_CONNECTIONS`, kept within 1 and 32.
    pub fn new(profile: &Profile, connections: u32) -> Self {
        let connections = connections.clamp(1, 32) as usize;
        Self {
            profile: profile.clone(),
            now: Time::ZERO,
            operations: Operations::default(),
            streams: Streams::new(connections),
            queues: Queues::new(connections),
            agenda: Agenda::default(),
            transfers: Transfers::new(profile),
            grids: Grids::new(profile),
            memory: DeviceMemory::new(profile),
            front_end: FrontEnd::default(),
            host_functions: HostFunctions::default(),
            happenings: VecDeque::new(),
            unanswered: BTreeSet::new(),
            changed: Changed::default(),
        }
    }

    /// A new stream; numerically lower priorities are more urgent, as in `cuStreamCreateWithPriority`.
    pub fn add_stream(&mut self, priority: i32) -> StreamId {
        self.streams.add(priority)
    }

    /// Gives the stream's connection free for others. Operations that it was given still run.
    pub fn remove_stream(&mut self, stream: StreamId) {
        self.streams.remove(stream);
    }

    /// Appends `work` to `stream`.
    ///
    /// The device sees it after `at`, the time of the host's call (or of the last happening, should that be later). It
    /// starts after the stream's earlier operations and those in `after` have ended. Operations not yet submitted
    /// cannot be waited for and are ignored in `after`.
    pub fn submit(&mut self, stream: StreamId, at: Time, work: Work, after: &[OpId]) -> OpId {
        let op = self.operations.next_id();
        let mut operation = Operation {
            stream,
            work,
            waits_for: 0,
            ready: at.max(self.now) + self.profile.handover.arrival_us.micros(),
            successors: Vec::new(),
            armed: false,
            started: None,
            ended: None,
            reported: false,
        };
        let predecessor = self.streams.append(stream, op);
        for dependency in predecessor.iter().chain(after) {
            self.depend(*dependency, op, &mut operation);
        }
        if operation.waits_for == 0 {
            self.agenda.add(operation.ready, Event::Armed(op));
        }
        if let Some(unit) = Unit::of(&work) {
            self.queues
                .push(unit, self.streams.get(stream).connection, op);
        }
        self.operations.add(operation)
    }

    /// No happening is earlier than this. `None`: nothing is under way.
    pub fn next_event_time(&self) -> Option<Time> {
        match self.happenings.front() {
            Some(Happening::Started { at, .. } | Happening::Ended { at, .. }) => Some(*at),
            None => self.next_instant(),
        }
    }

    /// The next happening, if it is not later than `limit`.
    ///
    /// A kernel or host function whose start was reported and that got no cost since is taken to cost nothing.
    pub fn step(&mut self, limit: Time) -> Option<Happening> {
        while self.next_event_time()? <= limit {
            if let Some(happening) = self.happenings.pop_front() {
                self.report(happening);
                return Some(happening);
            }
            while let Some(op) = self.unanswered.first().copied() {
                self.set_kernel_cost(op, KernelCost::default());
                self.complete_host_function(op, Time::ZERO);
            }
            if let Some(instant) = self.next_instant() {
                self.process(instant);
            }
        }
        None
    }

    /// What the kernel that just started costs. Ignored for anything else.
    pub fn set_kernel_cost(&mut self, op: OpId, cost: KernelCost) {
        let Some(operation) = self.operations.get(op) else {
            return;
        };
        let Work::Kernel {
            blocks,
            threads_per_block,
            registers_per_thread,
            shared_bytes_per_block,
        } = operation.work
        else {
            return;
        };
        if !self.unanswered.remove(&op) {
            return;
        }
        let priority = self.streams.get(operation.stream).priority;
        let footprint = Footprint::new(
            &self.profile.device,
            threads_per_block,
            registers_per_thread,
            shared_bytes_per_block,
        );
        self.grids.add(op, priority, footprint, blocks, &cost);
        let ramp = self.profile.kernels.ramp_us.micros();
        self.agenda.add(self.now + ramp, Event::Placeable(op));
    }

    /// How long the host function that just started takes. Ignored for anything else.
    pub fn complete_host_function(&mut self, op: OpId, duration: Time) {
        let is_function = self
            .operations
            .get(op)
            .is_some_and(|o| o.work == Work::HostFunction);
        if is_function && self.unanswered.remove(&op) {
            self.agenda.add(self.now + duration, Event::Done(op));
        }
    }

    /// Whether the operation's end has been reported.
    pub fn is_complete(&self, op: OpId) -> bool {
        match self.operations.get(op) {
            Some(operation) => operation.reported,
            None => self.operations.is_forgotten(op),
        }
    }

    /// When the operation started, if it has and is not forgotten.
    pub fn started_at(&self, op: OpId) -> Option<Time> {
        self.operations.get(op)?.started
    }

    /// When the operation ended, if that has been reported and is not forgotten.
    pub fn finished_at(&self, op: OpId) -> Option<Time> {
        self.operations.get(op).filter(|o| o.reported)?.ended
    }

    /// The operation submitted last to `stream`.
    pub fn last_operation(&self, stream: StreamId) -> Option<OpId> {
        self.streams.get(stream).last
    }

    /// Drops what is known of operations before `op`, up to the first whose end has not been reported or is so
    /// recent that handing over from it may still delay an operation yet to be submitted.
    pub fn forget(&mut self, before: OpId) {
        let horizon = self.now - self.profile.handover.longest();
        self.operations.forget(before, horizon);
    }

    /// Makes `op` wait for `dependency`.
    fn depend(&mut self, dependency: OpId, op: OpId, operation: &mut Operation) {
        let Some(earlier) = self.operations.get_mut(dependency) else {
            return;
        };
        match earlier.ended {
            Some(ended) => {
                let ready = ended + self.profile.handover.between(earlier, operation);
                operation.ready = operation.ready.max(ready);
            }
            None => {
                operation.waits_for += 1;
                earlier.successors.push(op);
            }
        }
    }

    fn report(&mut self, happening: Happening) {
        if let Happening::Ended { op, .. } = happening
            && let Some(operation) = self.operations.get_mut(op)
        {
            operation.reported = true;
        }
    }

    fn next_instant(&self) -> Option<Time> {
        let times = [
            self.agenda.next_time(),
            self.transfers.next_end(),
            self.grids.next_end(),
        ];
        times
            .into_iter()
            .flatten()
            .filter(|time| *time < Time::MAX)
            .min()
    }

    /// Everything that happens at `now`.
    fn process(&mut self, now: Time) {
        self.now = now;
        self.end_fluids();
        while let Some(event) = self.agenda.take_due(now) {
            self.handle(event);
        }
        self.start_copies();
        self.start_grids();
        if std::mem::take(&mut self.changed.room) {
            self.grids.place(now);
            self.changed.rates = true;
        }
        if std::mem::take(&mut self.changed.rates) {
            self.memory
                .share_out(&mut self.transfers, &mut self.grids, now);
        }
    }

    fn end_fluids(&mut self) {
        while let Some(op) = self.transfers.take_ended(self.now) {
            self.end(op);
            self.changed.rates = true;
        }
        let mut over = Vec::new();
        self.changed.room |= self.grids.take_ended(self.now, &mut over);
        for op in over {
            self.drain(op);
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Armed(op) => self.arm(op),
            Event::Moves(op) => self.move_bytes(op),
            Event::Placeable(op) => {
                if self.grids.release(op) {
                    self.drain(op);
                } else {
                    self.changed.room = true;
                }
            }
            Event::Done(op) => self.end(op),
            Event::FrontEnd => self.front_end.wakes_at = None,
        }
    }

    /// Everything that `op` waited for is over: it goes to its unit, or to the host, or is a mere point in time.
    fn arm(&mut self, op: OpId) {
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        operation.armed = true;
        let (work, ready, stream) = (operation.work, operation.ready, operation.stream);
        match Unit::of(&work) {
            Some(unit) => {
                if self
                    .queues
                    .is_next(unit, self.streams.get(stream).connection, op)
                {
                    self.offer(op);
                }
            }
            None if work == Work::HostFunction => {
                self.host_functions.ready.insert((ready, op));
                self.start_host_function();
            }
            None => {
                self.start(op);
                self.end(op);
            }
        }
    }

    /// `op` is armed and the first in its hardware queue.
    fn offer(&mut self, op: OpId) {
        let Some(operation) = self.operations.get(op) else {
            return;
        };
        match operation.work {
            Work::Copy { kind, .. } => self.transfers.enqueue(kind, operation.ready, op),
            Work::Kernel { .. } => {
                let priority = self.streams.get(operation.stream).priority;
                self.front_end.ready.insert((priority, operation.ready, op));
            }
            _ => {
                self.start(op);
                self.agenda
                    .add(self.now + self.transfers.set_up_set(), Event::Moves(op));
            }
        }
    }

    fn start_copies(&mut self) {
        while let Some((kind, op)) = self.transfers.start_one() {
            self.start(op);
            if let Some(operation) = self.operations.get(op)
                && let Work::Copy { bytes, .. } = operation.work
            {
                let setup = self.transfers.set_up_copy(kind, bytes, operation.stream);
                self.agenda.add(self.now + setup, Event::Moves(op));
            }
        }
    }

    fn start_grids(&mut self) {
        while let Some(&next) = self.front_end.ready.first() {
            if self.front_end.resident >= self.profile.device.max_resident_grids {
                return;
            }
            if self.now < self.front_end.free_at {
                if self.front_end.wakes_at.is_none() {
                    self.front_end.wakes_at = Some(self.front_end.free_at);
                    self.agenda.add(self.front_end.free_at, Event::FrontEnd);
                }
                return;
            }
            self.front_end.ready.remove(&next);
            self.front_end.resident += 1;
            self.front_end.free_at = self.now + self.profile.kernels.start_interval_us.micros();
            self.start(next.2);
            self.unanswered.insert(next.2);
        }
    }

    fn start_host_function(&mut self) {
        if !self.host_functions.busy
            && let Some((_, op)) = self.host_functions.ready.pop_first()
        {
            self.host_functions.busy = true;
            self.start(op);
            self.unanswered.insert(op);
        }
    }

    fn move_bytes(&mut self, op: OpId) {
        if let Some((route, bytes)) = self.route(op) {
            self.transfers.begin(op, route, bytes, self.now);
            self.changed.rates = true;
        }
    }

    fn route(&self, op: OpId) -> Option<(Route, u64)> {
        match self.operations.get(op)?.work {
            Work::Copy {
                kind,
                bytes,
                pageable,
            } => Some((Route::Copy { kind, pageable }, bytes)),
            Work::Set { bytes } => Some((Route::Set, bytes)),
            _ => None,
        }
    }

    /// The last block of the grid is over.
    fn drain(&mut self, op: OpId) {
        let drain = self.profile.kernels.drain_us.micros();
        self.agenda.add(self.now + drain, Event::Done(op));
    }

    fn start(&mut self, op: OpId) {
        let now = self.now;
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        operation.started = Some(now);
        self.happenings
            .push_back(Happening::Started { op, at: now });
        let (work, stream) = (operation.work, operation.stream);
        if let Some(unit) = Unit::of(&work) {
            let next = self.queues.pop(unit, self.streams.get(stream).connection);
            if let Some(next) =
                next.filter(|&next| self.operations.get(next).is_some_and(|o| o.armed))
            {
                self.offer(next);
            }
        }
    }

    fn end(&mut self, op: OpId) {
        let now = self.now;
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        operation.ended = Some(now);
        self.happenings.push_back(Happening::Ended { op, at: now });
        let successors = std::mem::take(&mut operation.successors);
        match operation.work {
            Work::Kernel { .. } => self.front_end.resident -= 1,
            Work::HostFunction => {
                self.host_functions.busy = false;
                self.start_host_function();
            }
            _ => {}
        }
        for successor in successors {
            self.release(op, successor);
        }
    }

    /// `successor` no longer waits for `op`, which ended now.
    fn release(&mut self, op: OpId, successor: OpId) {
        let (Some(earlier), Some(later)) =
            (self.operations.get(op), self.operations.get(successor))
        else {
            return;
        };
        let ready = self.now + self.profile.handover.between(earlier, later);
        let Some(later) = self.operations.get_mut(successor) else {
            return;
        };
        later.ready = later.ready.max(ready);
        later.waits_for -= 1;
        if later.waits_for == 0 {
            let ready = later.ready;
            self.agenda.add(ready, Event::Armed(successor));
        }
    }
}
