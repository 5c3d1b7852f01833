//! What ran on the device, and when: the software GPU's own activity records.
//!
//! [`start`] begins to record, [`take`] hands over what has ended since. Times are of the virtual clock of
//! [`host::now`](crate::host::now), so intervals can be laid beside the host's work.
//!
//! [`keep_log`] keeps a log of the whole program beside that: also what the host called, and what waited for what.

use std::collections::BTreeMap;
use std::fmt;

use crate::driver;
use crate::timeline::CopyKind;

mod edges;
pub(crate) mod log;

/// One operation of a stream that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// What it was.
    pub kind: Kind,
    /// The kernel's name; for everything else the kind's.
    pub name: String,
    /// The ordinal of the stream's device.
    pub device: usize,
    /// The stream's number, as `cuStreamGetId` gives it: each thread's default stream has its own.
    pub stream: u64,
    /// When the device began it, in nanoseconds.
    pub start_ns: u64,
    /// When its effects were complete, in nanoseconds.
    pub end_ns: u64,
    /// Bytes copied or set; 0 for kernels and host functions.
    pub bytes: u64,
    /// Whether it is a copy from or to host memory that is not page-locked.
    pub pageable: bool,
    /// Unique, rising in the order of submission; reports name operations by it, too.
    pub correlation: u64,
}

/// A call of the driver that took modelled time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedCall {
    /// The function, without the version that `cuda.h` appends.
    pub name: &'static str,
    /// The calling thread's name.
    pub thread: String,
    /// When it was called, in nanoseconds on the calling thread's clock.
    pub start_ns: u64,
    /// When it returned.
    pub end_ns: u64,
    /// The number of the stream that it submitted work to or waited for.
    pub stream: Option<u64>,
    /// The [`correlation`](Activity::correlation) of the first operation that it submitted.
    pub operation: Option<u64>,
}

/// The actions of a program since [`keep_log`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// The operations that have ended, in the order of their ends.
    pub activities: Vec<Activity>,
    /// The host's calls that have returned, in the order of their returns.
    pub calls: Vec<TimedCall>,
    /// Which operation waited for which other one through an event: the first had to end before the second began. By their
    /// [`correlation`](Activity::correlation).
    pub dependencies: Vec<(u64, u64)>,
    /// The streams that are legacy default streams, each with the number of its context.
    pub legacy_streams: BTreeMap<u64, u64>,
    /// What kernels have done wrong, as [`last_fault`](crate::last_fault) has it.
    pub faults: Vec<String>,
    /// The calls that have not returned.
    pub under_way: Vec<TimedCall>,
}

impl Log {
    const fn new() -> Self {
        Self {
            activities: Vec::new(),
            calls: Vec::new(),
            dependencies: Vec::new(),
            legacy_streams: BTreeMap::new(),
            faults: Vec::new(),
            under_way: Vec::new(),
        }
    }
}

/// The kinds of operations that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A grid.
    Kernel,
    /// A copy to the device.
    HostToDevice,
    /// A copy from the device.
    DeviceToHost,
    /// A copy within the device.
    DeviceToDevice,
    /// A copy within host memory.
    HostToHost,
    /// A copy from one device to another.
    PeerToPeer,
    /// A memset.
    Set,
    /// A host function or stream callback.
    HostFunction,
}

impl From<CopyKind> for Kind {
    fn from(kind: CopyKind) -> Self {
        match kind {
            CopyKind::HostToDevice => Self::HostToDevice,
            CopyKind::DeviceToHost => Self::DeviceToHost,
            CopyKind::DeviceToDevice => Self::DeviceToDevice,
            CopyKind::HostToHost => Self::HostToHost,
            CopyKind::PeerToPeer { .. } | CopyKind::PeerThroughHost => Self::PeerToPeer,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernel => "kernel",
            Self::HostToDevice => "host to device",
            Self::DeviceToHost => "device to host",
            Self::DeviceToDevice => "device to device",
            Self::HostToHost => "host to host",
            Self::PeerToPeer => "peer to peer",
            Self::Set => "memset",
            Self::HostFunction => "host function",
        })
    }
}

/// The number of an operation in records and reports.
pub(crate) fn correlation(op: u64) -> u64 {
    // 0 means no operation.
    op + 1
}

/// Begins to record. Recorded operations that were not taken are dropped.
pub fn start() {
    driver::start_activities();
}

/// What has ended since [`start`] or the last `take`, in the order of the ends. Recording continues.
pub fn take() -> Vec<Activity> {
    driver::take_activities()
}

/// Keeps a log of the program from now on. To be called before the first call of the driver.
pub fn keep_log() {
    log::keep();
}

/// The log so far. It does not wait for a call of the driver that is under way.
pub fn log_so_far() -> Log {
    log::so_far()
}

/// Where the simulator records.
#[derive(Debug, Default)]
pub(crate) struct ActivityRecorder {
    records: Option<Vec<Activity>>,
}

impl ActivityRecorder {
    pub(crate) fn start(&mut self) {
        self.records = Some(Vec::new());
    }

    pub(crate) fn record(&mut self, activity: impl FnOnce() -> Activity) {
        if let Some(records) = &mut self.records {
            records.push(activity());
        }
    }

    pub(crate) fn take(&mut self) -> Vec<Activity> {
        self.records
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }
}
