//! The state of the simulated devices and of everything that the process has created on them.

use std::collections::BTreeMap;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError, TryLockError};

use super::effects::Effects;
use super::operation::Operation;
use crate::activity::ActivityRecorder;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::handles::Table;
use crate::driver::c_abi::types::{
    CUcontext, CUevent, CUfunction, CUkernel, CUlibrary, CUlinkState, CUmodule, CUstream,
};
use crate::driver::checkers::gone_memory::Frees;
use crate::driver::checkers::ordering::Ordering;
use crate::driver::devices::context::Context;
use crate::driver::devices::count::device_count;
use crate::driver::devices::device::Device;
use crate::driver::devices::profile_choice;
use crate::driver::graph::{Captures, Graphs};
use crate::driver::host::threads::HostThreads;
use crate::driver::host_accesses::HostAccesses;
use crate::driver::memory::allocation::Owned;
use crate::driver::memory::managed::ManagedMemory;
use crate::driver::memory::pools::Pools;
use crate::driver::memory::small::SmallMemory;
use crate::driver::modules::function::LoadedFunction;
use crate::driver::modules::library::{Library, LibraryKernel};
use crate::driver::modules::link::LinkState;
use crate::driver::modules::module::LoadedModule;
use crate::driver::streams::attributes::StreamAttributes;
use crate::driver::streams::event::Event;
use crate::driver::streams::stream::Stream;
use crate::driver::streams::value_waits::ValueWaits;
use crate::driver::streams::watched_values::WatchedValues;
use crate::driver::textures::Textures;
use crate::memory::AddressSpace;
use crate::timeline::{OpId, Profile, Time, Timeline};

/// Everything behind the lock.
pub(in crate::driver) struct Simulator {
    /// By ordinal; at least one.
    pub(in crate::driver) devices: Vec<Device>,
    /// Whether `cuInit` was called.
    pub(in crate::driver) initialized: bool,
    pub(in crate::driver) memory: AddressSpace,
    pub(in crate::driver) timeline: Timeline,
    /// The modelled time that the simulation has reached. Nothing can be submitted earlier.
    pub(in crate::driver) now: Time,
    pub(in crate::driver) threads: HostThreads,
    /// Threads that wait for [`progress`].
    pub(in crate::driver) sleepers: u32,
    /// Incremented on every state change for which a sleeping thread may be waiting.
    pub(in crate::driver) progress: u64,
    /// A host function runs: the simulation stands still and other threads' calls wait.
    pub(in crate::driver) in_host_function: bool,
    /// Counts what the host can notice without a call: host functions, and what lands in page-locked memory.
    pub(in crate::driver) noticeable: u64,
    /// The program has ended.
    pub(in crate::driver) finishing: bool,
    /// The operation whose function that is.
    pub(in crate::driver) host_function: Option<OpId>,
    pub(in crate::driver) operations: BTreeMap<OpId, Operation>,
    pub(in crate::driver) effects: Effects,
    pub(in crate::driver) stream_attributes: StreamAttributes,
    /// The streams that wait for values in memory.
    pub(in crate::driver) value_waits: ValueWaits,
    pub(in crate::driver) watched: WatchedValues,
    pub(in crate::driver) ordering: Ordering,
    pub(in crate::driver) host_accesses: HostAccesses,
    pub(in crate::driver) contexts: Table<CUcontext, Context>,
    /// The allocations, by address.
    pub(in crate::driver) owned: BTreeMap<u64, Owned>,
    /// Where the pages of managed memory are.
    pub(in crate::driver) managed: ManagedMemory,
    pub(in crate::driver) small: SmallMemory,
    /// Where memory was freed.
    pub(in crate::driver) frees: Frees,
    pub(in crate::driver) pools: Pools,
    pub(in crate::driver) streams: Table<CUstream, Stream>,
    pub(in crate::driver) events: Table<CUevent, Event>,
    pub(in crate::driver) modules: Table<CUmodule, LoadedModule>,
    pub(in crate::driver) functions: Table<CUfunction, LoadedFunction>,
    pub(in crate::driver) libraries: Table<CUlibrary, Library>,
    pub(in crate::driver) links: Table<CUlinkState, LinkState>,
    /// The kernels of all libraries.
    pub(in crate::driver) kernels: Table<CUkernel, LibraryKernel>,
    pub(in crate::driver) textures: Textures,
    pub(in crate::driver) graphs: Graphs,
    pub(in crate::driver) captures: Captures,
    pub(in crate::driver) activities: ActivityRecorder,
    pub(in crate::driver) last_fault: Option<String>,
    pub(in crate::driver) last_refusal: Option<String>,
}

static SIMULATOR: LazyLock<Mutex<Simulator>> = LazyLock::new(|| Mutex::new(Simulator::new()));
/// Notified whenever a thread's clock or the simulation has advanced.
static PROGRESS: Condvar = Condvar::new();

/// The lock on the simulator. A panic inside a call leaves the state as it was then: later calls see it.
pub(in crate::driver) fn lock() -> MutexGuard<'static, Simulator> {
    SIMULATOR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same, unless another thread has it.
pub(in crate::driver) fn try_lock() -> Option<MutexGuard<'static, Simulator>> {
    match SIMULATOR.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Begins anew.
#[cfg(fuzzing)]
pub(in crate::driver) fn reset() {
    *lock() = Simulator::new();
}

/// The condition that [`Simulator`]'s users wait for.
pub(in crate::driver) fn progress() -> &'static Condvar {
    &PROGRESS
}

impl Simulator {
    fn new() -> Self {
        // `cuInit` refuses an unusable environment, and then nothing uses these.
        let count = device_count().unwrap_or(1);
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
            initialized: false,
            now: Time::ZERO,
            threads: HostThreads::default(),
            sleepers: 0,
            progress: 0,
            in_host_function: false,
            host_function: None,
            noticeable: 0,
            finishing: false,
            ordering: Ordering::default(),
            host_accesses: HostAccesses::default(),
            operations: BTreeMap::new(),
            effects: Effects::default(),
            stream_attributes: StreamAttributes::new(),
            value_waits: ValueWaits::default(),
            watched: WatchedValues::default(),
            contexts: Table::new(),
            owned: BTreeMap::new(),
            pools: Pools::default(),
            managed: ManagedMemory::default(),
            small: SmallMemory::default(),
            frees: Frees::default(),
            streams: Table::new(),
            events: Table::new(),
            modules: Table::new(),
            functions: Table::new(),
            libraries: Table::new(),
            links: Table::new(),
            kernels: Table::new(),
            textures: Textures::new(),
            graphs: Graphs::default(),
            captures: Captures::default(),
            activities: ActivityRecorder::default(),
            last_fault: None,
            last_refusal: None,
        }
    }

    /// Something has changed that other threads may wait for.
    pub(in crate::driver) fn wake_others(&mut self) {
        self.progress += 1;
        if self.sleepers > 0 {
            PROGRESS.notify_all();
        }
    }

    /// Makes a context's later calls fail with `error`; the first fault counts.
    pub(in crate::driver) fn poison(&mut self, context: CUcontext, error: CudaError) {
        if let Ok(context) = self.contexts.get_mut(context) {
            context.fault.get_or_insert(error);
        }
        self.value_waits.all_changed();
    }

    /// Whether the operation's effects are complete.
    pub(in crate::driver) fn is_complete(&self, op: OpId) -> bool {
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
