//! Lets the device begin a stretch of operations only when the host has enqueued all of it.
//!
//! A GPU begins the first operation of an idle stream while the host enqueues the next ones. A call takes the host some
//! microseconds, and the first one after an idle moment some tens of them. Where all operations together take less than a
//! millisecond, such a recording shows the speed of the host and not what the program orders. The gate takes that share away:
//!
//! ```text
//! host     |enqueue enqueue enqueue enqueue wait............
//! gate     |host function______________________|opens
//! stream 1 |w                                   HHHHKKKK     w waits for the gate's event
//! stream 2 |w                                   wwwwHHHHKKKK
//! ```
//!
//! Before the first operation in a stream the gate makes the stream wait for an event behind a host function. The function
//! returns as soon as the host makes a call that may wait for the device, or has made no call for 200 µs: a host that
//! computes, polls a flag in memory or is blocked inside a call thus finds the gate open. A program has one gate, in its longest
//! stretch of operations without a wait of the host. Operations in a default stream open it: what such a stream waits for is what
//! programs show with it. A first run of the program, [`look`], finds that stretch.

use crate::error::{Result, check};
use cust::sys::{self, CUresult};
use libcuda::observe::{Action, Call, StreamHandle, unobserved};
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the host may make no call before the gate opens.
const PATIENCE: Duration = Duration::from_micros(200);

/// Whether calls are of interest: read before each of them.
static IS_IN_USE: AtomicBool = AtomicBool::new(false);
/// Whether the host function may return.
static IS_OPEN: AtomicBool = AtomicBool::new(true);
/// When the last call began or ended, in nanoseconds since [`START`].
static LAST_CALL: AtomicU64 = AtomicU64::new(0);
static START: LazyLock<Instant> = LazyLock::new(Instant::now);
static GATE: Mutex<Gate> = Mutex::new(Gate::new());

fn gate() -> MutexGuard<'static, Gate> {
    GATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins to look for the longest stretch of operations without a wait of the host.
pub fn look() {
    gate().begin(None);
    IS_IN_USE.store(true, Ordering::Release);
}

/// Puts the gate before the longest stretch that was seen since [`look`]. The program that runs now makes the same calls.
///
/// # Errors
/// The driver's errors, in the current context.
pub fn close() -> Result<()> {
    let mut gate = gate();
    let longest = gate.longest();
    gate.begin(longest);
    gate.closed = Some(unobserved(|| {
        let closed = Closed::new()?;
        closed.practise()?;
        Ok(closed)
    })?);
    Ok(())
}

/// Opens the gate for good.
pub fn end() {
    IS_IN_USE.store(false, Ordering::Release);
    IS_OPEN.store(true, Ordering::Release);
}

/// A call of the program is about to be made.
#[inline]
pub(super) fn before(call: &Call) {
    if IS_IN_USE.load(Ordering::Acquire) {
        note_call();
        gate().before(&call.action);
    }
}

/// A call of the program has returned.
#[inline]
pub(super) fn after() {
    if IS_IN_USE.load(Ordering::Acquire) {
        note_call();
    }
}

fn now() -> u64 {
    START.elapsed().as_nanos() as u64
}

fn note_call() {
    LAST_CALL.store(now(), Ordering::Release);
}

/// What a call means to the gate.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// It adds an operation to a stream.
    Enqueues(StreamHandle),
    /// It may wait for the device, or asks how far the device is.
    MayWait,
    /// Neither.
    Neither,
}

impl Kind {
    fn of(action: &Action) -> Self {
        match *action {
            Action::Copy { waits: true, .. } => Self::MayWait,
            Action::RecordEvent { stream, .. }
            | Action::WaitEvent { stream, .. }
            | Action::Allocate {
                stream: Some(stream),
                ..
            }
            | Action::Free {
                stream: Some(stream),
            } => Self::Enqueues(stream),
            Action::CreateStream { .. }
            | Action::CreateEvent { .. }
            | Action::GetFunction { .. } => Self::Neither,
            Action::Allocate { .. }
            | Action::Free { .. }
            | Action::DestroyStream { .. }
            | Action::Synchronize { .. }
            | Action::Other => Self::MayWait,
            _ => action.enqueues_in().map_or(Self::MayWait, Self::Enqueues),
        }
    }
}

/// The stretches of a run, and the gate before one of them.
struct Gate {
    /// Operations of each stretch that has ended.
    stretches: Vec<u64>,
    /// Operations of the present one.
    operations: u64,
    /// The number of the stretch that is held back.
    held: Option<usize>,
    closed: Option<Closed>,
}

impl Gate {
    const fn new() -> Self {
        Self {
            stretches: Vec::new(),
            operations: 0,
            held: None,
            closed: None,
        }
    }

    fn begin(&mut self, held: Option<usize>) {
        self.stretches.clear();
        self.operations = 0;
        self.held = held;
    }

    /// The number of the first stretch that has the most operations.
    fn longest(&self) -> Option<usize> {
        let counts = self.stretches.iter().chain([&self.operations]);
        let worth_a_gate = counts.enumerate().filter(|(_, count)| **count > 1);
        // `max_by_key` returns the last of equal elements, so the order is reversed.
        let reversed: Vec<_> = worth_a_gate.collect();
        let longest = reversed.into_iter().rev().max_by_key(|(_, count)| **count);
        longest.map(|(number, _)| number)
    }

    fn before(&mut self, action: &Action) {
        match Kind::of(action) {
            Kind::Enqueues(stream) => {
                self.operations += 1;
                let is_held = self.held == Some(self.stretches.len());
                if let (true, Some(closed)) = (is_held, &mut self.closed) {
                    closed.hold(stream);
                }
            }
            Kind::MayWait if self.operations > 0 => {
                if self.held == Some(self.stretches.len()) {
                    IS_OPEN.store(true, Ordering::Release);
                }
                self.stretches.push(self.operations);
                self.operations = 0;
            }
            Kind::MayWait | Kind::Neither => {}
        }
    }
}

/// The stream and the event of a gate.
struct Closed {
    stream: usize,
    event: usize,
    /// Whether the host function is enqueued.
    is_shut: bool,
    /// Whether the program uses a default stream.
    is_refused: bool,
    held: BTreeSet<StreamHandle>,
}

impl Closed {
    fn new() -> Result<Self> {
        let (mut stream, mut event) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the call stores a handle in a variable that lives here.
        let created = unsafe { sys::cuStreamCreate(&raw mut stream, NON_BLOCKING) };
        check("cuStreamCreate", created, || "the gate's stream".to_owned())?;
        // SAFETY: as above.
        let created = unsafe { sys::cuEventCreate(&raw mut event, DISABLE_TIMING) };
        check("cuEventCreate", created, || "the gate's event".to_owned())?;
        Ok(Self {
            stream: stream as usize,
            event: event as usize,
            is_shut: false,
            is_refused: false,
            held: BTreeSet::new(),
        })
    }

    /// Goes through the gate once, while it is open: the first host function of a process takes the driver longer than the gate
    /// stays shut.
    fn practise(&self) -> Result<()> {
        IS_OPEN.store(true, Ordering::Release);
        self.enqueue();
        // SAFETY: the stream stays until the process ends.
        let waited = unsafe { sys::cuStreamSynchronize(self.stream as sys::CUstream) };
        check("cuStreamSynchronize", waited, || {
            "the gate's stream".to_owned()
        })
    }

    /// Makes a stream wait for the gate, unless it does already or is being captured. A stream that cannot be held begins at once.
    fn hold(&mut self, stream: StreamHandle) {
        if [StreamHandle::LEGACY, StreamHandle::PER_THREAD].contains(&stream) {
            self.is_refused = true;
            IS_OPEN.store(true, Ordering::Release);
        }
        if self.is_refused {
            return;
        }
        let raw = stream.0 as sys::CUstream;
        let mut capturing = sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the program is about to use the stream, and the status is stored in a variable that lives here.
        let asked = unsafe { sys::cuStreamIsCapturing(raw, &raw mut capturing) };
        let is_capturing =
            capturing != sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
        if asked != CUresult::CUDA_SUCCESS
            || is_capturing
            || !self.shut()
            || !self.held.insert(stream)
        {
            return;
        }
        // SAFETY: the event stays until the process ends.
        unsafe { sys::cuStreamWaitEvent(raw, self.event as sys::CUevent, 0) };
    }

    /// Shuts the gate, once. Returns whether that succeeded.
    fn shut(&mut self) -> bool {
        if !self.is_shut {
            IS_OPEN.store(false, Ordering::Release);
            note_call();
            self.is_shut = self.enqueue();
            note_call();
        }
        self.is_shut
    }

    /// Enqueues the host function and the event behind it. Returns whether that succeeded.
    fn enqueue(&self) -> bool {
        let stream = self.stream as sys::CUstream;
        // SAFETY: the function takes no data, and stream and event stay until the process ends.
        unsafe {
            sys::cuLaunchHostFunc(stream, Some(wait_until_open), ptr::null_mut())
                == CUresult::CUDA_SUCCESS
                && sys::cuEventRecord(self.event as sys::CUevent, stream) == CUresult::CUDA_SUCCESS
        }
    }
}

/// `CU_STREAM_NON_BLOCKING`: the legacy default stream does not wait for the gate's stream.
const NON_BLOCKING: u32 = 1;
/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: u32 = 2;

/// The gate's host function.
unsafe extern "C" fn wait_until_open(_: *mut c_void) {
    let patience = PATIENCE.as_nanos() as u64;
    while !IS_OPEN.load(Ordering::Acquire)
        && now().saturating_sub(LAST_CALL.load(Ordering::Acquire)) < patience
    {
        std::hint::spin_loop();
    }
    IS_OPEN.store(true, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: StreamHandle = StreamHandle(16);

    fn enqueue(gate: &mut Gate, operations: usize) {
        for _ in 0..operations {
            gate.before(&Action::HostFunction { stream: STREAM });
        }
    }

    fn wait(gate: &mut Gate) {
        gate.before(&Action::Synchronize {
            stream: Some(STREAM),
            event: None,
        });
    }

    #[test]
    fn the_gate_stands_before_the_first_of_the_longest_stretches() {
        let mut gate = Gate::new();
        for operations in [1, 5, 0, 5, 2] {
            enqueue(&mut gate, operations);
            wait(&mut gate);
        }
        assert_eq!(gate.longest(), Some(1));
    }

    #[test]
    fn a_stretch_that_no_wait_ends_counts() {
        let mut gate = Gate::new();
        enqueue(&mut gate, 2);
        wait(&mut gate);
        enqueue(&mut gate, 3);
        assert_eq!(gate.longest(), Some(1));
    }

    #[test]
    fn single_operations_need_no_gate() {
        let mut gate = Gate::new();
        for _ in 0..3 {
            enqueue(&mut gate, 1);
            wait(&mut gate);
        }
        assert_eq!(gate.longest(), None);
    }

    #[test]
    fn a_copy_that_blocks_the_host_ends_a_stretch() {
        let copy = |waits| Action::Copy {
            way: libcuda::observe::Copied::HostToDevice,
            bytes: 4,
            stream: STREAM,
            waits,
        };
        assert_eq!(Kind::of(&copy(true)), Kind::MayWait);
        assert_eq!(Kind::of(&copy(false)), Kind::Enqueues(STREAM));
    }
}
