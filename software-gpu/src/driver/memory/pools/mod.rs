//! Memory pools and the stream-ordered allocator: `cuMemAllocAsync`, `cuMemFreeAsync`, `cuMemPool*`.
//!
//! - [`segments`]: the memory of one pool; pure.
//! - [`pool`]: one pool's attributes, and which memory it may use again.
//! - [`order`]: which frees a stream is ordered after.
//! - [`management`]: the calls that create, ask and change pools; [`stream_ordered`]: those that allocate and free.
//!
//! An allocation takes, in this order (CUDA programming guide, "Memory Reuse Policies"): memory that was freed earlier
//! in the same stream, or before something that the host has waited for; memory whose free the stream is ordered after
//! (`REUSE_FOLLOW_EVENT_DEPENDENCIES`); memory whose free has been executed (`REUSE_ALLOW_OPPORTUNISTIC`); memory never
//! used; more memory of the device; and when that is exhausted, memory whose free is still to come, which the stream is
//! made to wait for (`REUSE_ALLOW_INTERNAL_DEPENDENCIES`).
//!
//! Freed memory stays mapped until its chunk is released, as on a GPU: a kernel that uses it reads stale data and does
//! not fault.

pub(in crate::driver) mod abi;
pub(in crate::driver) mod management;
mod order;
mod pool;
mod segments;
pub(in crate::driver) mod stream_ordered;
mod unseen;

use std::collections::BTreeMap;

use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::handles::Table;
use crate::driver::c_abi::types::{CUcontext, CUdeviceptr, CUevent, CUmemoryPool, CUstream};
use crate::driver::host::call::Call;
use crate::driver::host::costs::Cost;
use crate::driver::simulation::simulator::Simulator;
use crate::memory::AllocationKind;
use crate::timeline::OpId;

use order::{PoolOrder, Reach};
use pool::{Pool, Properties};
use segments::FreePoint;

/// What an allocation or a free in stream order is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct StreamOrdered {
    /// The first address.
    pub(in crate::driver) address: CUdeviceptr,
    /// The requested size in bytes.
    pub(in crate::driver) bytes: usize,
    /// The pool that owns the memory; `None` for memory of `cuMemAlloc` that is freed in stream order.
    pub(in crate::driver) pool: Option<CUmemoryPool>,
}

/// A live allocation of a pool.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) struct PoolAllocation {
    pub(in crate::driver) pool: CUmemoryPool,
    pub(in crate::driver) bytes: usize,
}

/// The sizes of the chunks that pools have released: see [`Call::give_back`].
#[derive(Debug, Default)]
pub(in crate::driver) struct Released(Vec<u64>);

impl Call {
    /// Charges the time of the chunks that pools have released.
    pub(in crate::driver) fn give_back(&mut self, released: Released) {
        for bytes in released.0 {
            self.spend(Cost::PoolGrowth(bytes));
        }
    }
}

/// All pools of all devices.
#[derive(Debug)]
pub(in crate::driver) struct Pools {
    pools: Table<CUmemoryPool, Pool>,
    /// Each device's default pool, by the device's ordinal, created on first use.
    default: BTreeMap<usize, CUmemoryPool>,
    /// The pools that were made current.
    current: BTreeMap<usize, CUmemoryPool>,
    /// By address.
    allocations: BTreeMap<CUdeviceptr, PoolAllocation>,
    /// Memory of `cuMemAlloc` that is freed in stream order: it goes at the next synchronisation.
    deferred: BTreeMap<CUdeviceptr, FreePoint>,
    order: PoolOrder,
}

impl Default for Pools {
    fn default() -> Self {
        Self {
            pools: Table::new(),
            default: BTreeMap::new(),
            current: BTreeMap::new(),
            allocations: BTreeMap::new(),
            deferred: BTreeMap::new(),
            order: PoolOrder::default(),
        }
    }
}

impl Pools {
    /// A pool that the program has not destroyed.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an unknown pool.
    fn get(&self, handle: CUmemoryPool) -> Result<&Pool, CudaError> {
        let pool = self.pools.get(handle).ok();
        pool.filter(|pool| !pool.destroyed)
            .ok_or(CudaError::InvalidValue)
    }

    /// As [`get`](Self::get).
    fn get_mut(&mut self, handle: CUmemoryPool) -> Result<&mut Pool, CudaError> {
        let pool = self.pools.get_mut(handle).ok();
        pool.filter(|pool| !pool.destroyed)
            .ok_or(CudaError::InvalidValue)
    }

    /// The default pool of a device that exists.
    fn default_of(&mut self, device: usize) -> CUmemoryPool {
        let pools = &mut self.pools;
        *self.default.entry(device).or_insert_with(|| {
            pools.insert(Pool::new(Properties {
                device,
                handle_types: 0,
                max_bytes: 0,
            }))
        })
    }

    /// The current pool of a device that exists.
    fn current_of(&mut self, device: usize) -> CUmemoryPool {
        match self.current.get(&device) {
            Some(pool) => *pool,
            None => self.default_of(device),
        }
    }

    fn is_default(&self, handle: CUmemoryPool) -> bool {
        self.default.values().any(|pool| *pool == handle)
    }

    /// The live allocation that an address lies in, and its first address.
    pub(in crate::driver) fn allocation_at(
        &self,
        address: CUdeviceptr,
    ) -> Option<(CUdeviceptr, PoolAllocation)> {
        let (base, found) = self.allocations.range(..=address).next_back()?;
        (address - base < found.bytes as u64).then_some((*base, *found))
    }

    /// The addresses and sizes of the live allocations of a device's pools.
    pub(in crate::driver) fn live_on(
        &self,
        device: usize,
    ) -> impl Iterator<Item = (CUdeviceptr, usize)> {
        let is_there = move |pool: CUmemoryPool| {
            let pool = self.get(pool);
            pool.is_ok_and(|pool| pool.properties.device == device)
        };
        let live = self.allocations.iter();
        let live = live.filter(move |(_, found)| is_there(found.pool));
        live.map(|(address, found)| (*address, found.bytes))
    }

    /// Whether a device may access the memory at `address`, whatever peer access says; `None` when no pool has it.
    pub(in crate::driver) fn accessible_from(
        &self,
        address: CUdeviceptr,
        device: usize,
    ) -> Option<bool> {
        let mut pools = self.pools.iter().map(|(_, pool)| pool);
        let pool = pools.find(|pool| pool.memory.contains(address))?;
        Some(pool.accessible_from(device))
    }

    /// An event was recorded in a stream.
    pub(in crate::driver) fn event_recorded(&mut self, event: CUevent, stream: CUstream) {
        self.order.recorded(event, stream);
    }

    /// A stream waits for an event, whether it has been reached or not.
    pub(in crate::driver) fn event_waited(&mut self, stream: CUstream, event: CUevent) {
        self.order.waited(stream, event);
    }

    /// Whether there is nothing that a synchronisation could change.
    fn is_unused(&self) -> bool {
        self.pools.is_empty() && self.deferred.is_empty()
    }

    /// Whether the order of operations matters.
    pub(in crate::driver) fn is_tracking(&self) -> bool {
        self.order.is_tracking()
    }
}

impl Simulator {
    /// An operation was submitted: keeps the order of frees and allocations.
    pub(in crate::driver) fn track_order(&mut self, stream: CUstream, op: OpId) {
        if self.pools.is_tracking() {
            let reach = self.reach_of(stream);
            self.pools.order.submitted(stream, op, reach);
        }
    }

    /// A stream is destroyed; its operations still come.
    pub(in crate::driver) fn pool_stream_destroyed(
        &mut self,
        stream: CUstream,
        context: CUcontext,
        blocking: bool,
    ) {
        self.pools.order.stream_destroyed(stream, context, blocking);
    }

    /// What the next operation of `stream` comes after, the legacy stream's rules included.
    fn reach_of(&self, stream: CUstream) -> Reach {
        let Ok(state) = self.streams.get(stream) else {
            return Reach::default();
        };
        let Ok(context) = self.contexts.get(state.context) else {
            return Reach::default();
        };
        if stream == context.legacy {
            let blocking = self
                .streams
                .iter()
                .filter(|(_, other)| other.context == state.context && !other.non_blocking);
            let kin: Vec<_> = blocking.map(|(handle, _)| handle).collect();
            let mut reach = self.pools.order.next(stream, &kin);
            reach.join(&self.pools.order.destroyed(state.context, true));
            return reach;
        }
        let kin = [context.legacy];
        let kin = if state.non_blocking {
            &[][..]
        } else {
            &kin[..]
        };
        self.pools.order.next(stream, kin)
    }

    /// The host has synchronised with a stream: its frees are complete, and memory above the thresholds is released.
    /// Returns what that was.
    #[must_use]
    pub(in crate::driver) fn pools_after_stream(&mut self, stream: CUstream) -> Released {
        if self.pools.is_unused() {
            return Released::default();
        }
        let legacy = self
            .streams
            .get(stream)
            .and_then(|state| self.contexts.get(state.context));
        let is_legacy = legacy.is_ok_and(|context| context.legacy == stream);
        let reach = match is_legacy {
            true => self.reach_of(stream),
            // What the legacy stream was given since does not hold the stream back.
            false => self.pools.order.next(stream, &[]),
        };
        self.pools_after(&reach)
    }

    /// The host has waited for an event: see [`pools_after_stream`](Self::pools_after_stream).
    #[must_use]
    pub(in crate::driver) fn pools_after_event(&mut self, event: CUevent) -> Released {
        if self.pools.is_unused() {
            return Released::default();
        }
        let reach = self.pools.order.event(event);
        self.pools_after(&reach)
    }

    /// The host has waited for all of a context: see [`pools_after_stream`](Self::pools_after_stream).
    #[must_use]
    pub(in crate::driver) fn pools_after_context(&mut self, context: CUcontext) -> Released {
        if self.pools.is_unused() {
            return Released::default();
        }
        let streams = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.context == context);
        let streams: Vec<_> = streams.map(|(handle, _)| handle).collect();
        let Some((first, others)) = streams.split_first() else {
            return Released::default();
        };
        let mut reach = self.pools.order.next(*first, others);
        reach.join(&self.pools.order.destroyed(context, false));
        self.pools_after(&reach)
    }

    fn pools_after(&mut self, reach: &Reach) -> Released {
        let deferred = self.pools.deferred.iter();
        let over = deferred.filter(|(_, by)| reach.covers(by));
        let over: Vec<_> = over.map(|(address, _)| *address).collect();
        for address in over {
            self.pools.deferred.remove(&address);
            self.free(address);
        }
        let mut chunks = Vec::new();
        for pool in self.pools.pools.iter_mut() {
            if !pool.memory.unseen().is_empty() {
                pool.memory.see(|by| reach.covers(by));
            }
            if pool.can_release() {
                chunks.extend(pool.memory.release_above(pool.releases_above()));
            }
        }
        let released = self.unmap(&chunks);
        self.forget_finished_pools();
        released
    }

    /// Gives a pool's chunks back to the device.
    #[must_use]
    fn unmap(&mut self, chunks: &[CUdeviceptr]) -> Released {
        let mut released = Released::default();
        for chunk in chunks {
            let bytes = self.memory.find(*chunk).map_or(0, |found| found.len());
            self.memory.free(*chunk, AllocationKind::Device);
            self.ordering.freed(*chunk, bytes);
            released.0.push(bytes as u64);
        }
        released
    }

    /// Removes destroyed pools without memory, and stops recording the order when no free needs it.
    fn forget_finished_pools(&mut self) {
        let pools = &mut self.pools;
        pools
            .pools
            .retain(|pool| !pool.destroyed || pool.memory.reserved() > 0);
        let has_unseen = |pool: &Pool| !pool.memory.unseen().is_empty();
        let needed =
            !pools.deferred.is_empty() || pools.pools.iter().any(|(_, pool)| has_unseen(pool));
        if !needed && pools.is_tracking() {
            pools.order.stop();
        }
    }
}
