//! The simulation itself: what happens next, and what follows from it.
//!
//! This is a discrete-event simulation. [`Timeline::step`] reports the oldest happening that waits in the queue. If the queue is
//! empty, it advances the clock to the next instant and processes all events of that instant, which fill the queue again. The
//! clock never goes back, and no event of an instant is processed before every event of an earlier one.

use std::collections::{BTreeSet, VecDeque};

use super::agenda::{Agenda, AgendaEvent};
use super::device::{DeviceState, Front};
use super::handover::HandOvers;
use super::multiprocessors::Footprint;
use super::operations::{Manner, Operations, TimedOperation};
use super::peers;
use super::profile::Profile;
use super::queues::Unit;
use super::streams::StreamTable;
use super::transfers::Route;
use super::{Happening, KernelCost, OpId, OperationStage, StreamId, Time};

/// The simulation of the devices of one host. See the module.
#[derive(Debug)]
pub struct Timeline {
    devices: Vec<DeviceState>,
    now: Time,
    operations: Operations,
    streams: StreamTable,
    agenda: Agenda,
    host_functions: HostFunctions,
    /// Happenings not yet reported.
    happenings: VecDeque<Happening>,
    /// Kernels and host functions that started and whose cost the caller has not given yet.
    unanswered: BTreeSet<OpId>,
    /// Waits for values that started and whose value has not arrived.
    value_waits: BTreeSet<OpId>,
}

/// The driver's thread that runs host functions, one at a time.
#[derive(Debug, Default)]
struct HostFunctions {
    ready: BTreeSet<(Time, OpId)>,
    busy: bool,
}

impl Timeline {
    /// Idle devices, numbered from 0 in the order of their profiles. `connections` is `CUDA_DEVICE_MAX_CONNECTIONS`,
    /// kept within 1 and 32; each device has as many.
    pub fn new(profiles: &[Profile], connections: u32) -> Self {
        let connections = connections.clamp(1, 32) as usize;
        Self {
            devices: profiles
                .iter()
                .map(|profile| DeviceState::new(profile, connections))
                .collect(),
            now: Time::ZERO,
            operations: Operations::default(),
            streams: StreamTable::new(connections, profiles.len()),
            agenda: Agenda::default(),
            host_functions: HostFunctions::default(),
            happenings: VecDeque::new(),
            unanswered: BTreeSet::new(),
            value_waits: BTreeSet::new(),
        }
    }

    /// A new stream of a device; numerically lower priorities are more urgent, as in `cuStreamCreateWithPriority`.
    ///
    /// # Panics
    /// When there is no such device.
    pub fn add_stream(&mut self, device: usize, priority: i32) -> StreamId {
        assert!(device < self.devices.len(), "no device {device}");
        self.streams.add(device, priority)
    }

    /// Changes the priority of operations that are not under way yet.
    pub fn set_priority(&mut self, stream: StreamId, priority: i32) {
        self.streams.set_priority(stream, priority);
    }

    /// Sets the priority of a kernel that has not started yet.
    pub fn set_kernel_priority(&mut self, op: OpId, priority: i32) {
        if let Some(operation) = self.operations.get_mut(op) {
            operation.priority = Some(priority);
        }
    }

    /// Frees the stream's connection for others. Its submitted operations still run.
    pub fn remove_stream(&mut self, stream: StreamId) {
        self.streams.remove(stream);
    }

    /// Appends `work` to `stream`.
    ///
    /// The device sees it after `at`, the time of the host's call (or of the last happening, should that be later). It
    /// starts after the stream's earlier operations and those in `after` have ended. Operations not yet submitted
    /// cannot be waited for and are ignored in `after`.
    pub fn submit(
        &mut self,
        stream: StreamId,
        at: Time,
        work: OperationStage,
        after: &[OpId],
    ) -> OpId {
        self.submit_as(stream, at, work, after, Manner::default())
    }

    /// As [`submit`](Self::submit), in a manner that matters to the hand-over from what was before.
    pub fn submit_as(
        &mut self,
        stream: StreamId,
        at: Time,
        work: OperationStage,
        after: &[OpId],
        manner: Manner,
    ) -> OpId {
        let op = self.operations.next_id();
        let device = self.streams.get(stream).device;
        let arrival = match work {
            OperationStage::Note => Time::ZERO,
            _ => self.devices[device].profile.handover.arrival_us.micros(),
        };
        let predecessor = self.streams.append(stream, op);
        let ready = at.max(self.now) + arrival;
        let mut operation = TimedOperation {
            stream,
            work,
            unit: Unit::of(&work),
            manner,
            on_its_way: ready,
            followed: None,
            priority: None,
            waits_for: 0,
            ready,
            successors: Vec::new(),
            armed: false,
            started: None,
            ended: None,
            reported: false,
        };
        for dependency in predecessor.iter().chain(after) {
            self.depend(*dependency, op, &mut operation);
        }
        if operation.waits_for == 0 {
            self.agenda.add(operation.ready, AgendaEvent::Armed(op));
        }
        if let Some(unit) = Unit::of(&work) {
            let connection = self.streams.get(stream).connection;
            self.devices[device].queues.push(unit, connection, op);
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
            // The caller continued without an answer: time cannot advance until each kernel has a cost.
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

    /// Sets the cost of the kernel that just started. Ignored for anything else.
    pub fn set_kernel_cost(&mut self, op: OpId, cost: KernelCost) {
        let Some(operation) = self.operations.get(op) else {
            return;
        };
        let OperationStage::Kernel {
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
        let stream = self.streams.get(operation.stream);
        let priority = operation.priority.unwrap_or(stream.priority);
        // A kernel that starts early was dispatched while its predecessor ran, so its ramp may have passed already.
        let on_its_way = match operation.manner.early {
            true => operation.on_its_way,
            false => self.now,
        };
        let device = &mut self.devices[stream.device];
        let footprint = Footprint::new(
            &device.profile.device,
            threads_per_block,
            registers_per_thread,
            shared_bytes_per_block,
        );
        device.grids.add(op, priority, footprint, blocks, &cost);
        let ramp = device.profile.kernels.ramp_us.micros();
        let placeable = self.now.max(on_its_way + ramp);
        self.agenda.add(placeable, AgendaEvent::Placeable(op));
    }

    /// How long the host function that just started takes. Ignored for anything else.
    pub fn complete_host_function(&mut self, op: OpId, duration: Time) {
        let is_function = self
            .operations
            .get(op)
            .is_some_and(|o| o.work == OperationStage::HostFunction);
        if is_function && self.unanswered.remove(&op) {
            self.agenda.add(self.now + duration, AgendaEvent::Done(op));
        }
    }

    /// The value that the operation has started to wait for is there, at `at` or when it started, whichever is later.
    /// Ignored for anything else.
    pub fn value_came(&mut self, op: OpId, at: Time) {
        if self.value_waits.remove(&op) {
            self.agenda.add(at.max(self.now), AgendaEvent::Done(op));
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

    /// The time at which the device reported the operation's end to the host: as [`finished_at`](Self::finished_at), but not of notes,
    /// which only the host keeps.
    pub fn seen_to_end(&self, op: OpId) -> Option<Time> {
        let operation = self.operations.get(op)?;
        match operation.work {
            OperationStage::Note => None,
            _ => self.finished_at(op),
        }
    }

    /// Drops what is known of operations before `op`, up to the first whose end has not been reported or is so
    /// recent that handing over from it may still delay an operation yet to be submitted.
    pub fn forget(&mut self, before: OpId) {
        let longest = self
            .devices
            .iter()
            .map(|device| HandOvers(&device.profile.handover).longest())
            .max();
        // A hand-over may still delay an operation that is submitted for up to this time after the end.
        let horizon = self.now - longest.unwrap_or(Time::ZERO);
        self.operations.forget(before, horizon);
    }

    /// Makes `op` wait for `dependency`.
    fn depend(&mut self, dependency: OpId, op: OpId, operation: &mut TimedOperation) {
        let device = self.streams.get(operation.stream).device;
        let handover = HandOvers(&self.devices[device].profile.handover);
        let Some(earlier) = self.operations.get_mut(dependency) else {
            return;
        };
        match earlier.ended {
            Some(ended) => {
                let ready = ended + handover.between(earlier, operation);
                operation.follow(dependency, (earlier.unit, earlier.stream), ready);
                operation.ready = operation.ready.max(ready);
                operation.on_its_way = operation.on_its_way_after(earlier, ready);
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
        let ends = self.devices.iter().filter_map(DeviceState::next_end);
        ends.chain(self.agenda.next_time())
            // A fluid at rate 0 never ends by itself.
            .filter(|time| *time < Time::MAX)
            .min()
    }

    /// Everything that happens at `now`.
    fn process(&mut self, now: Time) {
        self.now = now;
        // The order within an instant: ends, then events at a fixed time, then starts, and rates last, once for everything that changed.
        for device in 0..self.devices.len() {
            self.end_fluids(device);
        }
        while let Some(event) = self.agenda.take_due(now) {
            self.handle(event);
        }
        for device in 0..self.devices.len() {
            self.start_copies(device);
            self.start_grids(device);
        }
        peers::share(&mut self.devices);
        for device in &mut self.devices {
            device.settle(now);
        }
    }

    fn end_fluids(&mut self, device: usize) {
        while let Some(op) = self.devices[device].transfers.take_ended(self.now) {
            self.devices[device].changed.rates = true;
            self.end(op);
        }
        let mut over = Vec::new();
        let device = &mut self.devices[device];
        device.changed.room |= device.grids.take_ended(self.now, &mut over);
        for op in over {
            self.drain(op);
        }
    }

    fn handle(&mut self, event: AgendaEvent) {
        match event {
            AgendaEvent::Armed(op) => self.arm(op),
            AgendaEvent::Moves(op) => self.move_bytes(op),
            AgendaEvent::Placeable(op) => self.release_blocks(op),
            AgendaEvent::Done(op) => self.end(op),
            AgendaEvent::FrontEnd(device) => self.devices[device].front_end.wakes_at = None,
        }
    }

    /// Everything that `op` waited for is complete: `op` goes to its unit or to the host, or takes no time.
    fn arm(&mut self, op: OpId) {
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        operation.armed = true;
        let device = self.streams.get(operation.stream).device;
        operation.settle(HandOvers(&self.devices[device].profile.handover).change_of_unit());
        let (work, ready, stream) = (operation.work, operation.ready, operation.stream);
        match Unit::of(&work) {
            Some(unit) => {
                let stream = self.streams.get(stream);
                let queues = &mut self.devices[stream.device].queues;
                // Otherwise an operation issued earlier on the connection is in front of it: a false dependency between streams.
                if queues.is_next(unit, stream.connection, op) {
                    self.offer(op);
                }
            }
            None if work == OperationStage::HostFunction => {
                self.host_functions.ready.insert((ready, op));
                self.start_host_function();
            }
            None if work == OperationStage::ValueWait => {
                self.start(op);
                self.value_waits.insert(op);
            }
            None if matches!(work, OperationStage::Timestamp | OperationStage::Upload) => {
                let device = self.streams.get(stream).device;
                let handover = HandOvers(&self.devices[device].profile.handover);
                let takes = match work {
                    OperationStage::Upload => handover.graph_upload_us.micros(),
                    _ => handover.timestamp_us.micros(),
                };
                self.start(op);
                self.agenda.add(self.now + takes, AgendaEvent::Done(op));
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
        let stream = self.streams.get(operation.stream);
        let device = &mut self.devices[stream.device];
        match operation.work {
            OperationStage::Copy { kind, .. } => {
                device.transfers.enqueue(kind, operation.ready, op)
            }
            OperationStage::Kernel { .. } => {
                let priority = operation.priority.unwrap_or(stream.priority);
                let place = (priority, operation.ready, op);
                device.front_end.ready.insert(place);
            }
            _ => {
                let setup = device.transfers.set_up_set();
                self.start(op);
                self.agenda.add(self.now + setup, AgendaEvent::Moves(op));
            }
        }
    }

    fn start_copies(&mut self, device: usize) {
        while let Some(op) = self.devices[device].transfers.start_one() {
            self.start(op);
            if let Some(operation) = self.operations.get(op)
                && let OperationStage::Copy {
                    kind,
                    bytes,
                    pageable,
                    ..
                } = operation.work
            {
                let transfers = &mut self.devices[device].transfers;
                let setup = transfers.set_up_copy(kind, bytes, pageable, operation.stream);
                self.agenda.add(self.now + setup, AgendaEvent::Moves(op));
            }
        }
    }

    fn start_grids(&mut self, device: usize) {
        loop {
            match self.devices[device].start_grid(self.now) {
                Front::Starts(op) => {
                    self.start(op);
                    self.unanswered.insert(op);
                }
                Front::Wakes(at) => return self.agenda.add(at, AgendaEvent::FrontEnd(device)),
                Front::Rests => return,
            }
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
        let now = self.now;
        let Some(work) = self.operations.get(op).map(|operation| operation.work) else {
            return;
        };
        let Some(device) = self.device_of(op) else {
            return;
        };
        let (route, bytes) = match work {
            OperationStage::Copy {
                kind,
                bytes,
                rows,
                pageable,
            } => {
                let route = device.transfers.route(kind, bytes, pageable);
                (route, device.transfers.moved(bytes, rows))
            }
            OperationStage::Set { bytes } => (Route::Set, bytes),
            _ => return,
        };
        device.transfers.begin(op, route, bytes, now);
        device.changed.rates = true;
    }

    /// The last block of the grid has ended.
    fn drain(&mut self, op: OpId) {
        let Some(device) = self.device_of(op) else {
            return;
        };
        let drain = device.profile.kernels.drain_us.micros();
        self.agenda.add(self.now + drain, AgendaEvent::Done(op));
    }

    /// Lets the grid's blocks be placed.
    fn release_blocks(&mut self, op: OpId) {
        let Some(device) = self.device_of(op) else {
            return;
        };
        if device.grids.release(op) {
            self.drain(op);
        } else {
            device.changed.room = true;
        }
    }

    /// The device whose stream the operation is in.
    fn device_of(&mut self, op: OpId) -> Option<&mut DeviceState> {
        let stream = self.operations.get(op)?.stream;
        let device = self.streams.get(stream).device;
        self.devices.get_mut(device)
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
            let stream = self.streams.get(stream);
            let queues = &mut self.devices[stream.device].queues;
            // The operation has left its queue. If its successor there is armed already, the successor is offered to the unit now.
            let next = queues.pop(unit, stream.connection);
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
            OperationStage::Kernel { .. } => {
                if let Some(device) = self.device_of(op) {
                    device.front_end.resident -= 1;
                }
            }
            OperationStage::HostFunction => {
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
        let device = self.streams.get(later.stream).device;
        let handover = HandOvers(&self.devices[device].profile.handover);
        let ready = self.now + handover.between(earlier, later);
        let followed = (earlier.unit, earlier.stream);
        let on_its_way = later.on_its_way_after(earlier, ready);
        let Some(later) = self.operations.get_mut(successor) else {
            return;
        };
        later.follow(op, followed, ready);
        later.ready = later.ready.max(ready);
        later.on_its_way = on_its_way;
        // The last dependency to end determines when the operation can start; `ready` has the maximum of all.
        later.waits_for -= 1;
        if later.waits_for == 0 {
            let ready = later.ready;
            self.agenda.add(ready, AgendaEvent::Armed(successor));
        }
    }
}
