//! Runs a program on the driver and by the rules at once.

use std::collections::BTreeSet;
use std::ffi::{c_uint, c_void};
use std::mem::discriminant;
use std::time::Duration;

use software_gpu::activity::{self, Activity};
use software_gpu::driver::entry_point;
use software_gpu::reports::Report;
use software_gpu::{host, reports};

use super::kernels::{self, PTX, Waits};
use super::rules::{MemoryChange, NodeNumber, Rules};
use super::steps::{BUFFERS, EVENTS, FLAGS, PINNED, ProgramStep, STREAMS};
use crate::driver_support::*;

const SMALL: usize = 8;
const LARGE: usize = 80_000;
const PLACES: usize = BUFFERS + PINNED;
/// The place of pageable memory, whose values the host changes without the driver.
const PAGEABLE: usize = PLACES;
/// The place of the first flag.
const FIRST_FLAG: usize = PLACES + 1;
/// No other memset has as many bytes.
const MARK: usize = 5;

/// The state that outlives a program.
pub struct TestState {
    driver: Driver,
    functions: [Handle; 4],
    buffers: [Address; BUFFERS],
    pinned: [Pinned; PINNED],
    /// Values that streams wait for.
    flags: Pinned,
    pageable: Vec<u8>,
    /// Where each stream copies flags.
    flags_read: [Address; STREAMS],
    /// A stream for the memsets that mark the steps, and their memory.
    marks: (Handle, Address),
}

/// A program that runs.
struct ProgramRun<'w> {
    world: &'w mut TestState,
    rules: Rules,
    streams: [TestStream; STREAMS],
    events: [(Handle, Option<NodeNumber>); EVENTS],
    flags: [Flag; FLAGS],
    /// What the host has waited for and done.
    host: Vec<NodeNumber>,
    exited: bool,
}

struct TestStream {
    handle: Handle,
    kind: Kind,
    nodes: Vec<NodeNumber>,
    /// What the kernel that was given last began after, if nothing came since.
    kernel: Option<NodeNumber>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Legacy,
    Blocking,
    Free,
}

#[derive(Default)]
struct Flag {
    /// The stream that writes it and its first write, which releases the waits; the host has no stream.
    writer: Option<(Option<usize>, Vec<NodeNumber>)>,
    value: u32,
    /// A wait that nothing releases yet.
    open: Option<NodeNumber>,
}

impl TestState {
    pub fn new() -> Self {
        let driver = Driver::new();
        let module = driver.module(PTX).expect("the kernels load");
        let functions = ["never", "before", "after", "count"]
            .map(|name| driver.function(module, name).expect("there is the kernel"));
        let buffers = std::array::from_fn(|buffer| driver.allocate(bytes(buffer)).expect("memory"));
        let pinned = [(); PINNED].map(|()| driver.pinned(SMALL));
        let flags = driver.pinned(4 * FLAGS);
        let flags_read = [(); STREAMS].map(|()| driver.allocate(4).expect("memory"));
        let marks = (
            driver.stream(NON_BLOCKING),
            driver.allocate(MARK).expect("memory"),
        );
        Self {
            flags_read,
            marks,
            driver,
            functions,
            buffers,
            pinned,
            flags,
            pageable: vec![0; LARGE],
        }
    }

    /// Whether the program has races, or how the driver differs from the rules.
    pub fn run(&mut self, program: &[ProgramStep]) -> Result<bool, String> {
        for (buffer, address) in self.buffers.iter().enumerate() {
            self.driver
                .set(*address, 0, bytes(buffer), LEGACY)
                .expect("cuMemsetD8Async");
        }
        self.driver.synchronize().expect("cuCtxSynchronize");
        self.pinned.iter().for_each(|pinned| pinned.fill(0));
        self.flags.fill(0);
        activity::start();
        let mut run = ProgramRun::new(self);
        // Reports that say the same become one only within a step.
        let mut found = Vec::new();
        let mut host = Vec::new();
        for (index, step) in program.iter().enumerate() {
            run.rules.step = index;
            let (begun, more) = reports::collect(|| {
                run.mark();
                let begun = host::now();
                run.step(step);
                begun
            });
            found.extend(more);
            host.push((begun, host::now()));
        }
        let ((result, values), more) = reports::collect(|| {
            run.mark();
            run.end()
        });
        found.extend(more);
        let times = Times::new(program, &host, &activity::take());
        let racing = result.races();
        let races = !racing.is_empty();
        if races == found.is_empty() {
            return Err(format!("races: {races}, reports: {found:#?}"));
        }
        check_pairs(program, &racing, &times, &found)
            .map_err(|what| format!("{what}; reports: {found:#?}"))?;
        let mut expected = result.values(PLACES + 1);
        expected.truncate(PLACES);
        match values {
            Some(values) if !races && values != expected => {
                Err(format!("the memory has {values:?}, expected {expected:?}"))
            }
            _ => Ok(races),
        }
    }
}

/// Where the operations of each step lie among all, and when they or the host's accesses began, at the earliest and latest.
struct Times {
    marks: Vec<u64>,
    begun: Vec<(u64, u64)>,
}

impl Times {
    fn new(
        program: &[ProgramStep],
        host: &[(Duration, Duration)],
        activities: &[Activity],
    ) -> Self {
        let is_mark = |activity: &&Activity| activity.bytes == MARK as u64;
        let marks = activities.iter().filter(is_mark);
        let mut marks: Vec<u64> = marks.map(|activity| activity.correlation).collect();
        marks.sort_unstable();
        let begun = program
            .iter()
            .zip(host)
            .map(|(step, (from, to))| match step {
                ProgramStep::HostAccess { .. } => (from.as_nanos() as u64, to.as_nanos() as u64),
                // There are no records of these.
                ProgramStep::WriteValue { .. } | ProgramStep::WaitValue { .. } => (0, u64::MAX),
                _ => (u64::MAX, 0),
            });
        let begun = begun.collect();
        let mut times = Self { marks, begun };
        for activity in activities {
            if let Some(step) = times.step(activity.correlation) {
                let (from, to) = &mut times.begun[step];
                *from = activity.start_ns.min(*from);
                *to = activity.start_ns.max(*to);
            }
        }
        times
    }

    /// The step that the operation is of.
    fn step(&self, correlation: u64) -> Option<usize> {
        let behind = self.marks.partition_point(|mark| *mark < correlation);
        let is_mark = self.marks.get(behind) == Some(&correlation);
        (!is_mark && 0 < behind && behind < self.marks.len()).then(|| behind - 1)
    }

    fn may_be_later(&self, later: usize, earlier: usize) -> bool {
        self.begun[earlier].0 <= self.begun[later].1
    }
}

/// Whether each pair of a report is one that races, and for each pair that races a report names the later one.
fn check_pairs(
    program: &[ProgramStep],
    racing: &BTreeSet<(usize, usize)>,
    times: &Times,
    found: &[Report],
) -> Result<(), String> {
    // What is reported once for all of them in a step.
    let class = |step: usize| (discriminant(&program[step]), program[step].stream());
    let mut reported = Vec::new();
    let pairs = found.iter().flat_map(|report| {
        let all = std::iter::once(&report.operations).chain(&report.also);
        all.map(move |operations| (operations, report))
    });
    for (operations, report) in pairs {
        let steps: Option<Vec<usize>> = operations
            .iter()
            .map(|operation| times.step(*operation))
            .collect();
        let is_of_host = |step: usize| matches!(program[step], ProgramStep::HostAccess { .. });
        let pair = match steps.as_deref() {
            Some([a, b]) => racing.get(&(*a, *b)).copied(),
            Some([a]) => racing
                .iter()
                .find(|(of, host)| of == a && is_of_host(*host))
                .copied(),
            _ => None,
        };
        let (a, b) = pair.ok_or_else(|| format!("no race of steps {steps:?}: {report:#?}"))?;
        reported.extend([(class(a), class(b)), (class(b), class(a))]);
    }
    let is_told = |later: usize| {
        let mut others = racing.iter().filter(|(of, _)| *of == later);
        others.any(|(_, other)| {
            times.may_be_later(later, *other) && reported.contains(&(class(later), class(*other)))
        })
    };
    let missed = racing.iter().find(|(a, b)| {
        !(times.may_be_later(*a, *b) && is_told(*a) || times.may_be_later(*b, *a) && is_told(*b))
    });
    missed.map_or(Ok(()), |pair| Err(format!("no report of steps {pair:?}")))
}

fn bytes(buffer: usize) -> usize {
    if buffer == BUFFERS - 1 { LARGE } else { SMALL }
}

impl<'w> ProgramRun<'w> {
    fn new(world: &'w mut TestState) -> Self {
        let kinds = [
            Kind::Legacy,
            Kind::Blocking,
            Kind::Blocking,
            Kind::Free,
            Kind::Free,
        ];
        let streams = kinds.map(|kind| TestStream {
            handle: match kind {
                Kind::Legacy => LEGACY,
                Kind::Blocking => world.driver.stream(0),
                Kind::Free => world.driver.stream(NON_BLOCKING),
            },
            kind,
            nodes: Vec::new(),
            kernel: None,
        });
        let events = [(); EVENTS].map(|()| (world.driver.event(), None));
        Self {
            world,
            rules: Rules::default(),
            streams,
            events,
            flags: Default::default(),
            host: Vec::new(),
            exited: false,
        }
    }

    /// Waits for everything, and returns the contents of memory unless the program exited before it could read them.
    fn end(mut self) -> (Rules, Option<Vec<u8>>) {
        if self.exited {
            software_gpu::finish();
        } else {
            self.release_all();
        }
        let world = &self.world;
        world.driver.synchronize().expect("cuCtxSynchronize");
        let values = (!self.exited).then(|| {
            let device = world.buffers.iter();
            let device = device.map(|address| world.driver.read(*address, 1)[0]);
            let host = world.pinned.iter().map(|pinned| pinned.byte(SMALL - 1));
            device.chain(host).collect()
        });
        for stream in &self.streams[1..] {
            cu!(cuStreamDestroy_v2(stream.handle => Handle)).expect("cuStreamDestroy");
        }
        for (event, _) in self.events {
            cu!(cuEventDestroy_v2(event => Handle)).expect("cuEventDestroy");
        }
        (self.rules, values)
    }

    /// Separates the operations of one step from those of the next.
    fn mark(&self) {
        let (stream, memory) = self.world.marks;
        let set = self.world.driver.set(memory, 0, MARK, stream);
        set.expect("cuMemsetD8Async");
    }

    /// What comes before something that is given to the stream now, by other rules than its own order.
    fn outside(&self, stream: usize) -> Vec<NodeNumber> {
        let implied = match self.streams[stream].kind {
            Kind::Legacy => Some(Kind::Blocking),
            Kind::Blocking => Some(Kind::Legacy),
            Kind::Free => None,
        };
        let streams = self.streams.iter();
        let implied = streams.filter(|stream| Some(stream.kind) == implied);
        let implied = implied.flat_map(|stream| &stream.nodes);
        self.host.iter().chain(implied).copied().collect()
    }

    fn next(&self, stream: usize) -> Vec<NodeNumber> {
        let mut before = self.outside(stream);
        before.extend(&self.streams[stream].nodes);
        before
    }

    /// Something in the stream, after its rules and `more`.
    fn submit(&mut self, stream: usize, more: &[NodeNumber]) -> NodeNumber {
        let mut before = self.next(stream);
        before.extend(more);
        let node = self.rules.node(before);
        let stream = &mut self.streams[stream];
        stream.nodes.push(node);
        stream.kernel = None;
        node
    }

    fn host_node(&mut self) -> NodeNumber {
        let node = self.rules.node(self.host.clone());
        self.host.push(node);
        node
    }

    /// What a synchronisation with the stream waits for.
    fn content(&self, stream: usize) -> Vec<NodeNumber> {
        let own = &self.streams[stream];
        let mut nodes = own.nodes.clone();
        if own.kind == Kind::Legacy {
            let blocking = self.streams.iter().filter(|of| of.kind == Kind::Blocking);
            nodes.extend(blocking.flat_map(|stream| &stream.nodes));
        }
        nodes
    }

    fn step(&mut self, step: &ProgramStep) {
        if self.exited {
            return;
        }
        match *step {
            ProgramStep::Set {
                stream,
                buffer,
                value,
            } => {
                let node = self.submit(stream, &[]);
                self.rules.writes(node, buffer, MemoryChange::Value(value));
                let (to, stream) = (self.world.buffers[buffer], self.streams[stream].handle);
                let driver = &self.world.driver;
                driver.set(to, value, bytes(buffer), stream).expect("set");
            }
            ProgramStep::Copy { stream, from, to } => {
                if from == to {
                    return;
                }
                let node = self.submit(stream, &[]);
                self.rules.reads(node, from);
                self.rules.writes(node, to, MemoryChange::From(from));
                let [from, to] = [from, to].map(|buffer| self.world.buffers[buffer]);
                let stream = self.streams[stream].handle;
                let driver = &self.world.driver;
                driver.within_device(to, from, SMALL, stream).expect("copy");
            }
            ProgramStep::ToHost {
                stream,
                buffer,
                pinned,
            } => {
                let node = self.submit(stream, &[]);
                self.rules.reads(node, buffer);
                let change = MemoryChange::From(buffer);
                self.rules.writes(node, BUFFERS + pinned, change);
                let to = self.world.pinned[pinned].pointer();
                let (from, stream) = (self.world.buffers[buffer], self.streams[stream].handle);
                let driver = &self.world.driver;
                driver.to_host(to, from, SMALL, stream).expect("copy");
            }
            ProgramStep::ToDevice {
                stream,
                pinned,
                buffer,
            } => {
                let node = self.submit(stream, &[]);
                self.rules.reads(node, BUFFERS + pinned);
                let change = MemoryChange::From(BUFFERS + pinned);
                self.rules.writes(node, buffer, change);
                let from = self.world.pinned[pinned].pointer();
                let (to, stream) = (self.world.buffers[buffer], self.streams[stream].handle);
                let driver = &self.world.driver;
                driver.to_device(to, from, SMALL, stream).expect("copy");
            }
            ProgramStep::PageableIn {
                stream,
                buffer,
                value,
            } => self.pageable_in(stream, buffer, value),
            ProgramStep::PageableOut { stream, buffer } => self.pageable_out(stream, buffer),
            ProgramStep::Kernel {
                stream,
                buffer,
                value,
                waits,
                programmatic,
            } => self.kernel(stream, (buffer, value), waits, programmatic),
            ProgramStep::Record { stream, event } => {
                let node = self.submit(stream, &[]);
                self.events[event].1 = Some(node);
                let event = self.events[event].0;
                let stream = self.streams[stream].handle;
                self.world.driver.record(event, stream).expect("record");
            }
            ProgramStep::Wait { stream, event } => {
                let (handle, record) = self.events[event];
                if let Some(record) = record {
                    self.submit(stream, &[record]);
                }
                let stream = self.streams[stream].handle;
                self.world.driver.wait(stream, handle).expect("wait");
            }
            ProgramStep::SynchroniseStream { stream } => self.synchronise_stream(stream),
            ProgramStep::SynchroniseEvent { event } => {
                self.release_all();
                let (handle, record) = self.events[event];
                self.host.extend(record);
                let driver = &self.world.driver;
                driver.event_synchronize(handle).expect("synchronise");
            }
            ProgramStep::QueryEvent { event } => {
                let (handle, record) = self.events[event];
                if self.world.driver.event_query(handle).is_ok() {
                    self.host.extend(record);
                }
            }
            ProgramStep::QueryStream { stream } => {
                let handle = self.streams[stream].handle;
                if self.world.driver.stream_query(handle).is_ok() {
                    self.host.extend(self.content(stream));
                }
            }
            ProgramStep::Elapsed { start, end } => {
                let [start, end] = [start, end].map(|event| self.events[event]);
                if self.world.driver.elapsed(start.0, end.0).is_ok() {
                    self.host.extend(start.1);
                    self.host.extend(end.1);
                }
            }
            ProgramStep::SynchroniseContext => {
                self.release_all();
                let all = self.streams.iter().flat_map(|stream| &stream.nodes);
                self.host.extend(all);
                self.world.driver.synchronize().expect("synchronise");
            }
            ProgramStep::WriteValue { stream, flag } => self.write_value(stream, flag),
            ProgramStep::WaitValue { stream, flag } => self.wait_value(stream, flag),
            ProgramStep::Count {
                stream,
                buffer,
                value,
                flag,
            } => self.count(stream, (buffer, value), flag),
            ProgramStep::ReadFlag { stream, flag } => {
                let node = self.submit(stream, &[]);
                self.rules.reads(node, FIRST_FLAG + flag);
                let (to, from) = (self.world.flags_read[stream], self.flag_address(flag));
                let stream = self.streams[stream].handle;
                let from = from as *const u8;
                let driver = &self.world.driver;
                driver.to_device(to, from, 4, stream).expect("copy");
            }
            ProgramStep::HostFunction {
                stream,
                pinned,
                write,
            } => self.host_function(stream, pinned, write),
            ProgramStep::HostAccess { pinned, write } => self.host_access(pinned, write),
            ProgramStep::Threads { memsets, waits } => self.threads(memsets, waits),
            ProgramStep::Exit => {
                self.release_all();
                self.exited = true;
            }
        }
    }

    fn pageable_in(&mut self, stream: Option<usize>, buffer: usize, value: u8) {
        self.release_all();
        if stream.is_none() {
            // The legacy stream is synchronised with before the copy.
            self.host.extend(self.content(0));
        }
        let node = self.submit(stream.unwrap_or(0), &[]);
        self.rules.writes(node, buffer, MemoryChange::Value(value));
        if stream.is_some() {
            // The call need not have taken the bytes when it returns.
            self.rules.reads(node, PAGEABLE);
        }
        let world = &mut *self.world;
        world.pageable.fill(value);
        let (to, from) = (world.buffers[buffer], world.pageable.as_ptr());
        match stream {
            Some(stream) => {
                let stream = self.streams[stream].handle;
                let copied = world.driver.to_device(to, from, bytes(buffer), stream);
                copied.expect("copy");
            }
            None => cu!(cuMemcpyHtoD_v2(
                to => Address, from => *const u8, bytes(buffer) => usize,
            ))
            .expect("copy"),
        }
    }

    fn pageable_out(&mut self, stream: Option<usize>, buffer: usize) {
        self.release_all();
        let node = self.submit(stream.unwrap_or(0), &[]);
        self.rules.reads(node, buffer);
        self.rules
            .writes(node, PAGEABLE, MemoryChange::From(buffer));
        let world = &mut *self.world;
        let (from, to) = (world.buffers[buffer], world.pageable.as_mut_ptr());
        match stream {
            Some(stream) => {
                let stream = self.streams[stream].handle;
                let copied = world.driver.to_host(to, from, bytes(buffer), stream);
                copied.expect("copy");
            }
            None => {
                self.host.push(node);
                cu!(cuMemcpyDtoH_v2(
                    to => *mut u8, from => Address, bytes(buffer) => usize,
                ))
                .expect("copy");
            }
        }
    }

    fn kernel(
        &mut self,
        stream: usize,
        (buffer, value): (usize, u8),
        waits: Waits,
        programmatic: bool,
    ) {
        let before = self.streams[stream].kernel.take().filter(|_| programmatic);
        let all = self.next(stream);
        let after_all = self.rules.node(all);
        let begins = match before {
            Some(before) => {
                let mut outside = self.outside(stream);
                outside.push(before);
                self.rules.node(outside)
            }
            None => after_all,
        };
        let is_late = waits == Waits::BeforeTheStore;
        let stores = self.rules.node([if is_late { after_all } else { begins }]);
        self.rules
            .writes(stores, buffer, MemoryChange::Value(value));
        self.submit(stream, &[stores]);
        // The next one may begin when all threads of this one have waited, or when it begins itself.
        let waits_at_all = waits != Waits::Never;
        self.streams[stream].kernel = Some(if waits_at_all { after_all } else { begins });
        let function = self.world.functions[match waits {
            Waits::Never => 0,
            Waits::BeforeTheStore => 1,
            Waits::AfterTheStore => 2,
        }];
        let (out, stream) = (self.world.buffers[buffer], self.streams[stream].handle);
        kernels::launch(function, stream, out, value, programmatic);
    }

    fn synchronise_stream(&mut self, stream: usize) {
        self.release_all();
        self.host.extend(self.content(stream));
        let handle = self.streams[stream].handle;
        let driver = &self.world.driver;
        driver.stream_synchronize(handle).expect("synchronise");
    }

    fn flag_address(&self, flag: usize) -> Address {
        self.world.flags.at(4 * flag) as Address
    }

    /// Whether the stream may write the flag now: streams take turns neither with each other nor with the host.
    fn may_write(&self, stream: usize, flag: usize) -> bool {
        let own = &self.flags[flag];
        let taken = own
            .writer
            .as_ref()
            .is_some_and(|(writer, _)| *writer != Some(stream));
        let before = self.rules.before(&self.next(stream));
        let mut blocked = self.flags.iter().filter_map(|flag| flag.open);
        !taken && !blocked.any(|wait| before.contains(&wait))
    }

    /// The node of this stream writes the next value of the flag.
    fn writes_value(&mut self, node: NodeNumber, stream: usize, flag: usize) {
        self.rules.updates(node, FIRST_FLAG + flag);
        let own = &mut self.flags[flag];
        own.value += 1;
        let (_, released_by) = own.writer.get_or_insert_with(|| (Some(stream), vec![node]));
        if let Some(wait) = own.open.take() {
            self.rules.comes_after(wait, released_by.clone());
        }
    }

    fn write_value(&mut self, stream: usize, flag: usize) {
        if !self.may_write(stream, flag) {
            return;
        }
        let node = self.submit(stream, &[]);
        self.writes_value(node, stream, flag);
        let value = self.flags[flag].value;
        let stream = self.streams[stream].handle;
        let address = self.flag_address(flag);
        cu!(cuStreamWriteValue32_v2(
            stream => Handle, address => Address, value => u32, 0 => c_uint,
        ))
        .expect("cuStreamWriteValue32");
    }

    /// A kernel that does not wait for the one before it, and counts when it has stored.
    fn count(&mut self, stream: usize, (buffer, value): (usize, u8), flag: usize) {
        if !self.may_write(stream, flag) {
            return;
        }
        let begins = self.rules.node(self.next(stream));
        let node = self.submit(stream, &[begins]);
        self.streams[stream].kernel = Some(begins);
        self.rules.writes(node, buffer, MemoryChange::Value(value));
        self.writes_value(node, stream, flag);
        let value = u64::from_ne_bytes([value; 8]);
        let (out, counter) = (self.world.buffers[buffer], self.flag_address(flag));
        let arguments: [&dyn LaunchArgument; 3] = [&out, &value, &counter];
        let (function, stream) = (self.world.functions[3], self.streams[stream].handle);
        let launched = self.world.driver.launch(function, 1, 1, stream, &arguments);
        launched.expect("cuLaunchKernel");
    }

    fn wait_value(&mut self, stream: usize, flag: usize) {
        let any_open = self.flags.iter().any(|flag| flag.open.is_some());
        let written = self.flags[flag].writer.clone();
        if written.is_none() && any_open {
            return;
        }
        let released_by = written.as_ref().map_or(&[][..], |(_, nodes)| nodes);
        let node = self.submit(stream, released_by);
        self.rules.updates(node, FIRST_FLAG + flag);
        if written.is_none() {
            self.flags[flag].open = Some(node);
        }
        let (stream, address) = (self.streams[stream].handle, self.flag_address(flag));
        cu!(cuStreamWaitValue32_v2(
            stream => Handle, address => Address, 1 => u32, 0 => c_uint,
        ))
        .expect("cuStreamWaitValue32");
    }

    /// The host writes a value for which a stream still waits.
    fn release_all(&mut self) {
        for flag in 0..FLAGS {
            if let Some(wait) = self.flags[flag].open.take() {
                self.rules.comes_after(wait, self.host.clone());
                self.flags[flag].writer = Some((None, self.host.clone()));
                let address = self.world.flags.at(4 * flag).cast::<u32>();
                // SAFETY: the flags are as long as that, and aligned.
                unsafe { address.write_volatile(1) };
            }
        }
    }

    fn host_function(&mut self, stream: usize, pinned: usize, write: bool) {
        unsafe extern "C" fn reads(data: *mut c_void) {
            host::reads(data.cast(), SMALL);
        }
        unsafe extern "C" fn writes(data: *mut c_void) {
            host::writes(data.cast(), SMALL);
        }
        self.release_all();
        let node = self.submit(stream, &[]);
        let place = BUFFERS + pinned;
        if write {
            // It says so and changes nothing.
            self.rules.writes(node, place, MemoryChange::From(place));
        } else {
            self.rules.reads(node, place);
        }
        let data = self.world.pinned[pinned].pointer().cast();
        let handle = self.streams[stream].handle;
        let function = if write { writes } else { reads };
        let driver = &self.world.driver;
        driver.host_function(handle, function, data).expect("call");
        self.synchronise_stream(stream);
    }

    fn host_access(&mut self, pinned: usize, write: bool) {
        let (node, place) = (self.host_node(), BUFFERS + pinned);
        let memory = self.world.pinned[pinned].pointer();
        if write {
            self.rules.writes(node, place, MemoryChange::From(place));
            host::writes(memory, SMALL);
        } else {
            self.rules.reads(node, place);
            host::reads(memory, SMALL);
        }
    }

    /// Each thread has one of the non-blocking streams.
    fn threads(&mut self, memsets: [(usize, u8); 2], waits: bool) {
        self.release_all();
        let mut known = Vec::new();
        for (thread, (buffer, value)) in memsets.into_iter().enumerate() {
            let stream = STREAMS - 2 + thread;
            let node = self.submit(stream, &[]);
            self.rules.writes(node, buffer, MemoryChange::Value(value));
            if waits {
                known.extend(self.content(stream));
            }
        }
        self.host.extend(known);
        let (driver, buffers) = (&self.world.driver, self.world.buffers);
        let handles = [0, 1].map(|thread| self.streams[STREAMS - 2 + thread].handle);
        host::threads(2, |thread| {
            driver.set_current(driver.context);
            let ((buffer, value), stream) = (memsets[thread], handles[thread]);
            let set = driver.set(buffers[buffer], value, bytes(buffer), stream);
            set.expect("cuMemsetD8Async");
            if waits {
                let waited = driver.stream_synchronize(stream);
                waited.expect("cuStreamSynchronize");
            }
        });
    }
}
