//! The state of the simulated devices and of everything that the process has created on them.

use std::collections::BTreeMap;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use super::c_abi::abi::{
    CUcontext, CUevent, CUfunction, CUkernel, CUlibrary, CUlinkState, CUmodule, CUstream,
};
use super::c_abi::errors::CudaError;
use super::c_abi::table::Table;
use super::devices::context::Context;
use super::devices::device::Device;
use super::devices::device_count::device_count;
use super::devices::profile_choice;
use super::effects::Effects;
use super::graph::{Captures, Graphs};
use super::host::host_threads::HostThreads;
use super::memory::allocation::Owned;
use super::memory::pools::Pools;
use super::modules::function::Function;
use super::modules::library::{Library, LibraryKernel};
use super::modules::link::LinkState;
use super::modules::module::LoadedModule;
use super::operation::Operation;
use super::ordering::Ordering;
use super::streams::event::Event;
use super::streams::stream::Stream;
use super::streams::stream_attributes::StreamAttributes;
use super::streams::stream_values::{ValueWait, ValueWrites};
use crate::activity::Recorder;
use crate::memory::AddressSpace;
use crate::timeline::{OpId, Profile, Time, Timeline};

/// Everything behind the lock.
pub(super) struct Simulator {
    /// By ordinal; at least one.
    pub(super) devices: Vec<Device>,
    /// Why `cuInit` has to fail, if it has to.
    pub(super) misconfigured: Option<String>,
    /// Whether `cuInit` was called.
    pub(super) initialized: bool,
    pub(super) memory: AddressSpace,
    pub(super) timeline: Timeline,
    /// How far the simulation has come. Nothing can be submitted earlier.
    pub(super) now: Time,
    pub(super) threads: HostThreads,
    /// Threads that wait for [`progress`].
    pub(super) sleepers: u32,
    /// Counts whatever others may have waited for.
    pub(super) progress: u64,
    /// A host function runs: the simulation stands still and other threads' calls wait.
    pub(super) in_host_function: bool,
    /// The operation whose function that is.
    pub(super) host_function: Option<OpId>,
    pub(super) operations: BTreeMap<OpId, Operation>,
    pub(super) effects: Effects,
    pub(super) stream_attributes: StreamAttributes,
    /// The streams that wait for values in memory, by the operation that waits.
    pub(super) value_waits: BTreeMap<OpId, ValueWait>,
    /// The values that streams were told to write last, by address.
    pub(super) value_writes: ValueWrites,
    pub(super) ordering: Ordering,
    pub(super) contexts: Table<CUcontext, Context>,
    /// What was allocated, by address.
    pub(super) owned: BTreeMap<u64, Owned>,
    pub(super) pools: Pools,
    pub(super) streams: Table<CUstream, Stream>,
    pub(super) events: Table<CUevent, Event>,
    pub(super) modules: Table<CUmodule, LoadedModule>,
    pub(super) functions: Table<CUfunction, Function>,
    pub(super) libraries: Table<CUlibrary, Library>,
    pub(super) links: Table<CUlinkState, LinkState>,
    /// The kernels of all libraries.
    pub(super) kernels: Table<CUkernel, LibraryKernel>,
    pub(super) graphs: Graphs,
    pub(super) captures: Captures,
    pub(super) activities: Recorder,
    pub(super) last_fault: Option<String>,
    pub(super) last_refusal: Option<String>,
}

static SIMULATOR: LazyLock<Mutex<Simulator>> = LazyLock::new(|| Mutex::new(Simulator::new()));
/// Notified whenever a thread's clock or the simulation has advanced.
static PROGRESS: Condvar = Condvar::new();

/// The lock on the simulator. A panic inside a call leaves the state as it was then: later calls see it.
pub(super) fn lock() -> MutexGuard<'static, Simulator> {
    SIMULATOR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins anew.
#[cfg(fuzzing)]
pub(super) fn reset() {
    *lock() = Simulator::new();
}

/// The condition that [`Simulator`]'s users wait for.
pub(super) fn progress() -> &'static Condvar {
    &PROGRESS
}

impl Simulator {
    fn new() -> Self {
        let (count, misconfigured) = match device_count() {
            Ok(count) => (count, None),
            Err(reason) => (1, Some(reason)),
        };
        // `cuInit` refuses what the environment says if it is no profile: then nothing asks for this one.
        let profile = profile_choice::profile().map_or_else(|_| Profile::h200(), Profile::clone);
        let page_locked_limit = profile.host.page_locked_limit_bytes.value as u64;
        let profiles = vec![profile; count];
        let memory: Vec<u64> = profiles
            .iter()
            .map(|profile| profile.device.total_memory_bytes)
            .collect();
        Self {
            memory: AddressSpace::new(&memory, page_locked_limit),
            timeline: Timeline::new(&profiles, connections()),
            devices: profiles.into_iter().map(Device::new).collect(),
            misconfigured,
            initialized: false,
            now: Time::ZERO,
            threads: HostThreads::default(),
            sleepers: 0,
            progress: 0,
            in_host_function: false,
            host_function: None,
            ordering: Ordering::default(),
            operations: BTreeMap::new(),
            effects: Effects::default(),
            stream_attributes: StreamAttributes::new(),
            value_waits: BTreeMap::new(),
            value_writes: ValueWrites::default(),
            contexts: Table::new(),
            owned: BTreeMap::new(),
            pools: Pools::default(),
            streams: Table::new(),
            events: Table::new(),
            modules: Table::new(),
            functions: Table::new(),
            libraries: Table::new(),
            links: Table::new(),
            kernels: Table::new(),
            graphs: Graphs::default(),
            captures: Captures::default(),
            activities: Recorder::default(),
            last_fault: None,
            last_refusal: None,
        }
    }

    /// Something has changed that other threads may wait for.
    pub(super) fn wake_others(&mut self) {
        self.progress += 1;
        if self.sleepers > 0 {
            PROGRESS.notify_all();
        }
    }

    /// Makes a context's later calls fail with `error`; the first fault counts.
    pub(super) fn poison(&mut self, context: CUcontext, error: CudaError) {
        if let Ok(context) = self.contexts.get_mut(context) {
            context.fault.get_or_insert(error);
        }
    }

    /// Whether the operation's effects are complete.
    pub(super) fn is_complete(&self, op: OpId) -> bool {
        !self.operations.contains_key(&op)
    }
}

/// `CUDA_DEVICE_MAX_CONNECTIONS`, which the driver reads when it starts.
fn connections() -> u32 {
    const DEFAULT: u32 = 8;
    std::env::var("CUDA_DEVICE_MAX_CONNECTIONS")
        .ok()
        .and_then(|value| value.trim().parse().ok())
        .filter(|count| (1..=32).contains(count))
        .unwrap_or(DEFAULT)
}
