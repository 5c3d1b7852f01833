//! Allocating and freeing in stream order.

use super::order::Reach;
use super::segments::{FreePoint, GRANULE, Placement, Rank};
use super::{PoolAllocation, StreamOrdered};
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUdeviceptr, CUmemoryPool, CUstream, Out};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::simulation::operation::Effect;
use crate::driver::streams::stream::NullStream;
use crate::memory::AllocationKind;

entry_points! {
    fn cuMemAllocAsync | cuMemAllocAsync_ptsz as null (address: Out<CUdeviceptr>, bytes: usize, stream: CUstream) {
        allocate(address, bytes, None, null, stream)
    }

    fn cuMemAllocFromPoolAsync | cuMemAllocFromPoolAsync_ptsz as null (
        address: Out<CUdeviceptr>, bytes: usize, pool: CUmemoryPool, stream: CUstream,
    ) {
        allocate(address, bytes, Some(pool), null, stream)
    }

    fn cuMemFreeAsync | cuMemFreeAsync_ptsz as null (address: CUdeviceptr, stream: CUstream) {
        free(address, null, stream)
    }
}

fn allocate(
    address: Out<CUdeviceptr>,
    bytes: usize,
    pool: Option<CUmemoryPool>,
    null: NullStream,
    stream: CUstream,
) -> Result<(), CudaError> {
    let address = address.required()?;
    call(Cost::PoolAllocation, |call| {
        let stream = call.stream(stream, null)?;
        let pool = match pool {
            Some(pool) => pool,
            None => {
                let context = call.streams.get(stream)?.context;
                let device = call.contexts.get(context)?.device;
                call.pools.current_of(device)
            }
        };
        address.set(call.allocate_in_order(pool, bytes, stream)?)
    })
}

fn free(address: CUdeviceptr, null: NullStream, stream: CUstream) -> Result<(), CudaError> {
    call(Cost::PoolAllocation, |call| {
        let stream = call.stream(stream, null)?;
        if address == 0 {
            return Ok(());
        }
        call.free_in_order(address, stream)
    })
}

impl Call {
    /// Puts an allocation of `bytes` bytes of the pool into the stream and returns its address.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for no pool, `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(in crate::driver) fn allocate_in_order(
        &mut self,
        pool: CUmemoryPool,
        bytes: usize,
        stream: CUstream,
    ) -> Result<CUdeviceptr, CudaError> {
        let device = self.pools.get(pool)?.properties.device;
        // As an H200 does: no error, and nothing to use.
        if bytes == 0 {
            return Ok(0);
        }
        if self.is_capturing(stream) {
            return self.capture_allocation(device, bytes, stream);
        }
        self.unsafe_in_captures()?;
        let rounded = (bytes as u64).checked_next_multiple_of(GRANULE);
        let rounded = rounded.ok_or(CudaError::OutOfMemory)?;
        let placement = self.place_in_order(pool, rounded, stream)?;
        let address = placement.address;
        let mut after = self.dependencies(stream)?;
        let waits = placement.freed_by.iter().filter(|by| by.stream != stream);
        let waits = waits.map(|by| by.op).filter(|op| !self.is_complete(*op));
        after.extend(waits);
        let effect = Effect::Allocate(StreamOrdered {
            address,
            bytes,
            pool: Some(pool),
        });
        let clock = self.clock();
        self.submit_after(stream, clock, effect, &after)?;
        self.pools.order.comes_after(stream, &placement.freed_by);
        let allocation = PoolAllocation { pool, bytes };
        self.pools.allocations.insert(address, allocation);
        self.memory.add_part(address, bytes);
        Ok(address)
    }

    /// Memory for the allocation: used before, never used, new, or waited for.
    fn place_in_order(
        &mut self,
        pool: CUmemoryPool,
        bytes: u64,
        stream: CUstream,
    ) -> Result<Placement, CudaError> {
        let reach = self.reach_of(stream);
        if self.pools.get(pool)?.searches(bytes, stream, &reach) {
            self.spend(Cost::PoolSearch);
            self.catch_up()?;
        }
        if let Some(placement) = self.take_from(pool, bytes, stream, &reach, Rank::Fresh)? {
            return Ok(placement);
        }
        let worst = match self.grow(pool, bytes) {
            Ok(()) => Rank::Fresh,
            Err(_) => Rank::Pending,
        };
        let placement = self.take_from(pool, bytes, stream, &reach, worst)?;
        let device = self.pools.get(pool)?.properties.device;
        placement.ok_or_else(|| self.because_full(device, bytes))
    }

    fn take_from(
        &mut self,
        pool: CUmemoryPool,
        bytes: u64,
        stream: CUstream,
        reach: &Reach,
        worst: Rank,
    ) -> Result<Option<Placement>, CudaError> {
        let simulator = &mut **self;
        let operations = &simulator.operations;
        let pool = simulator.pools.get_mut(pool)?;
        // The pool's rules are needed while its memory changes.
        let rules = pool.rules;
        let rank =
            |by: &FreePoint| rules.rank(by, stream, reach, |op| !operations.contains_key(&op));
        let placement = pool.memory.take(bytes, worst, rank);
        pool.note_high();
        Ok(placement)
    }

    /// Reserves another chunk that has room for `bytes` bytes.
    fn grow(&mut self, handle: CUmemoryPool, bytes: u64) -> Result<(), CudaError> {
        let pool = self.pools.get(handle)?;
        let (device, chunk) = (pool.properties.device, pool.next_chunk(bytes));
        let chunk = chunk.ok_or(CudaError::OutOfMemory)?;
        let len = usize::try_from(chunk).map_err(|_| CudaError::OutOfMemory)?;
        let address = self.memory.allocate(device, len, AllocationKind::Device)?;
        self.spend(Cost::PoolGrowth(chunk));
        let pool = self.pools.get_mut(handle)?;
        pool.memory.add_chunk(address, chunk);
        pool.note_high();
        Ok(())
    }

    /// Puts the free of a pool's allocation, or of memory of `cuMemAlloc`, into the stream.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an address at which no live allocation begins.
    pub(in crate::driver) fn free_in_order(
        &mut self,
        address: CUdeviceptr,
        stream: CUstream,
    ) -> Result<(), CudaError> {
        if self.is_capturing(stream) {
            return self.capture_free(address, stream);
        }
        if self.graphs.memory.is_freeable(address) {
            let clock = self.clock();
            return self.free_of_graph(address, stream, clock);
        }
        let of_pool = self.pools.allocations.get(&address).copied();
        let (bytes, pool) = match of_pool {
            Some(PoolAllocation { pool, bytes }) => (bytes, Some(pool)),
            None => (self.freeable(address)?, None),
        };
        let effect = Effect::Free(StreamOrdered {
            address,
            bytes,
            pool,
        });
        self.pools.order.start();
        let clock = self.clock();
        let Some(op) = self.submit(stream, clock, effect)? else {
            return Ok(());
        };
        let by = FreePoint { stream, op };
        match pool {
            Some(pool) => self.end_allocation(address, pool, Some(by)),
            None => {
                self.pools.deferred.insert(address, by);
            }
        }
        Ok(())
    }

    /// The size of memory of `cuMemAlloc` that starts at `address` and is not being freed.
    pub(in crate::driver) fn freeable(&self, address: CUdeviceptr) -> Result<usize, CudaError> {
        let owned = self.owned.get(&address);
        let owned = owned.filter(|owned| owned.kind == AllocationKind::Device);
        let found = self.memory.find(address);
        match (owned, found) {
            (Some(_), Some(found)) if !self.pools.deferred.contains_key(&address) => {
                Ok(found.len())
            }
            _ => Err(CudaError::InvalidValue),
        }
    }

    /// `cuMemFree` of a pool's allocation: the program states that no operation uses it any more; the call does not wait.
    /// `false` when there is no such allocation.
    pub(in crate::driver) fn free_of_pool(&mut self, address: CUdeviceptr) -> bool {
        let Some(allocation) = self.pools.allocations.get(&address).copied() else {
            return false;
        };
        self.ordering.freed_by_host(address, allocation.bytes);
        self.end_allocation(address, allocation.pool, None);
        true
    }

    fn end_allocation(&mut self, address: CUdeviceptr, pool: CUmemoryPool, by: Option<FreePoint>) {
        self.pools.allocations.remove(&address);
        self.memory.free_part(address);
        // A pool outlives its allocations, destroyed or not.
        if let Ok(pool) = self.pools.pools.get_mut(pool) {
            pool.memory.free(address, by);
        }
    }
}
