//! The memory of allocation nodes.
//!
//! An allocation has its address from the time when its node is made, and is alive from a launch of the node to a free: by
//! a node of the same graph or of another one, by `cuMemFreeAsync`, or by `cuMemFree`. Memory that no graph, no
//! executable graph and no use holds is kept for the next node, until `cuDeviceGraphMemTrim`.

use std::collections::BTreeMap;

use super::executable::{GraphStep, Role};
use super::graph::Graphs;
use super::node::Action;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUdeviceptr, CUgraph, CUstream};
use crate::driver::memory::pools::StreamOrdered;
use crate::driver::simulation::operation::Effect;
use crate::driver::simulation::simulator::Simulator;
use crate::memory::AllocationKind;
use crate::timeline::{OpId, Time};

/// Allocations are multiples of this many bytes.
const GRANULE: usize = 512;

/// What an allocation node allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allocation {
    pub(super) address: CUdeviceptr,
    /// As the program requested them.
    pub(super) bytes: usize,
    /// The ordinal of the device.
    pub(super) device: usize,
}

/// All memory of graphs.
#[derive(Debug, Default)]
pub(in crate::driver) struct GraphMemory {
    blocks: BTreeMap<CUdeviceptr, Block>,
    /// The most bytes that were in use and reserved, by device.
    high: BTreeMap<usize, (u64, u64)>,
}

/// Memory at a fixed address.
#[derive(Debug)]
struct Block {
    device: usize,
    /// A multiple of [`GRANULE`].
    reserved: usize,
    /// The parameters of its node.
    bytes: usize,
    /// How many graphs and executable graphs have its node. Without any, and when it is not alive, it is spare.
    holders: usize,
    /// The graph that has a node which frees it.
    freed_by: Option<CUgraph>,
    /// The graph that has its node.
    owner: CUgraph,
    /// From the launch to the free, in the order of the calls.
    alive: bool,
    /// The last operation that may use it.
    last: Option<OpId>,
}

impl Block {
    fn is_spare(&self) -> bool {
        self.holders == 0 && !self.alive
    }
}

impl GraphMemory {
    /// A node allocates this memory: a graph or an executable graph begins to hold it.
    pub(super) fn hold(&mut self, address: CUdeviceptr) {
        if let Some(block) = self.blocks.get_mut(&address) {
            block.holders += 1;
        }
    }

    /// The end of [`hold`](Self::hold).
    pub(super) fn release(&mut self, address: CUdeviceptr) {
        if let Some(block) = self.blocks.get_mut(&address) {
            block.holders = block.holders.saturating_sub(1);
        }
    }

    /// Whether an executable graph allocates this memory.
    pub(super) fn is_instantiated(&self, address: CUdeviceptr) -> bool {
        let block = self.blocks.get(&address);
        block.is_some_and(|block| block.holders > 1)
    }

    /// A node of `graph` is to free the memory at `address`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for memory that does not belong to a graph, or that a node frees.
    pub(super) fn add_free(
        &mut self,
        graph: CUgraph,
        address: CUdeviceptr,
    ) -> Result<Action, CudaError> {
        let block = self.blocks.get_mut(&address);
        let block = block.filter(|block| !block.is_spare() && block.freed_by.is_none());
        let block = block.ok_or(CudaError::InvalidValue)?;
        block.freed_by = Some(graph);
        Ok(Action::Free(Allocation {
            address,
            bytes: block.bytes,
            device: block.device,
        }))
    }

    /// Whether the address is that of an allocation which only the program can end.
    pub(in crate::driver) fn is_freeable(&self, address: CUdeviceptr) -> bool {
        let block = self.blocks.get(&address);
        block.is_some_and(|block| block.alive && block.freed_by != Some(block.owner))
    }

    /// Bytes in use and reserved on a device.
    pub(super) fn current(&self, device: usize) -> (u64, u64) {
        let of_device = self.blocks.values().filter(|block| block.device == device);
        of_device.fold((0, 0), |(used, reserved), block| {
            let bytes = block.reserved as u64;
            let in_use = if block.alive { bytes } else { 0 };
            (used + in_use, reserved + bytes)
        })
    }

    /// The most that [`current`](Self::current) was since the last reset.
    pub(super) fn high_mut(&mut self, device: usize) -> &mut (u64, u64) {
        let (used, reserved) = self.current(device);
        let high = self.high.entry(device).or_default();
        *high = (high.0.max(used), high.1.max(reserved));
        high
    }

    /// From now on alive or not, until `last` in use.
    fn turn(&mut self, address: CUdeviceptr, alive: bool, last: Option<OpId>) {
        let Some(block) = self.blocks.get_mut(&address) else {
            return;
        };
        block.alive = alive;
        block.last = last;
        let device = block.device;
        self.high_mut(device);
    }

    /// Whether a launch of these steps frees only what is alive, and allocates only what is not; the memory that has to
    /// be freed before it would be.
    fn left_over(&self, steps: &[GraphStep]) -> Result<Vec<CUdeviceptr>, CudaError> {
        let mut alive = BTreeMap::new();
        let mut left = Vec::new();
        for step in steps {
            let (memory, allocates) = match &step.role {
                Role::Node(Action::Allocate(memory)) => (memory, true),
                Role::Node(Action::Free(memory)) => (memory, false),
                _ => continue,
            };
            let block = self.blocks.get(&memory.address);
            let block = block.ok_or(CudaError::InvalidValue)?;
            let was = alive
                .insert(memory.address, allocates)
                .unwrap_or(block.alive);
            match (allocates, was) {
                (true, true) => left.push(memory.address),
                (false, false) => return Err(CudaError::InvalidValue),
                _ => {}
            }
        }
        Ok(left)
    }
}

impl Graphs {
    /// Whether the graph has allocation or free nodes.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` when there is no such graph.
    pub(super) fn has_memory(&self, graph: CUgraph) -> Result<bool, CudaError> {
        for node in &self.graph(graph)?.nodes {
            if matches!(
                self.node(*node)?.action,
                Action::Allocate(_) | Action::Free(_)
            ) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The error for an operation that graphs with memory nodes do not allow.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED` for such a graph.
    pub(super) fn without_memory(&self, graph: CUgraph) -> Result<(), CudaError> {
        match self.has_memory(graph)? {
            true => Err(CudaError::NotSupported),
            false => Ok(()),
        }
    }
}

impl Simulator {
    /// Memory for an allocation node of `graph`: the memory of a node that is no more, or new.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for no bytes, `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(super) fn reserve_for_graph(
        &mut self,
        graph: CUgraph,
        device: usize,
        bytes: usize,
    ) -> Result<Action, CudaError> {
        if bytes == 0 {
            return Err(CudaError::InvalidValue);
        }
        let rounded = bytes.checked_next_multiple_of(GRANULE);
        let reserved = rounded.ok_or(CudaError::OutOfMemory)?;
        let blocks = self.graphs.memory.blocks.iter();
        let spare = blocks
            .filter(|(_, block)| block.is_spare() && block.device == device)
            .filter(|(_, block)| block.last.is_none_or(|op| self.is_complete(op)))
            .find(|(_, block)| block.reserved == reserved)
            .map(|(address, _)| *address);
        let address = match spare {
            Some(address) => address,
            None => self
                .memory
                .allocate(device, reserved, AllocationKind::Device)?,
        };
        let block = Block {
            device,
            reserved,
            bytes,
            holders: 1,
            freed_by: None,
            owner: graph,
            alive: false,
            last: None,
        };
        self.graphs.memory.blocks.insert(address, block);
        self.graphs.memory.high_mut(device);
        Ok(Action::Allocate(Allocation {
            address,
            bytes,
            device,
        }))
    }

    /// Gives spare memory of graphs back to the device.
    pub(super) fn trim_graph_memory(&mut self, device: usize) {
        let blocks = self.graphs.memory.blocks.iter();
        let spare: Vec<_> = blocks
            .filter(|(_, block)| block.is_spare() && block.device == device)
            .filter(|(_, block)| block.last.is_none_or(|op| self.is_complete(op)))
            .map(|(address, _)| *address)
            .collect();
        for address in spare {
            if let Some(block) = self.graphs.memory.blocks.remove(&address) {
                self.ordering.freed(address, block.reserved);
            }
            self.memory.free(address, AllocationKind::Device);
        }
    }

    /// `cuMemFreeAsync` of a graph's memory.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` when it is not the program that has to free it.
    pub(in crate::driver) fn free_of_graph(
        &mut self,
        address: CUdeviceptr,
        stream: CUstream,
        clock: Time,
    ) -> Result<(), CudaError> {
        let after = self.dependencies(stream)?;
        self.free_left_over(address, stream, clock, &after)
    }

    /// `cuMemFree` of a graph's memory: the program states that no operation uses it any more. `false` when the memory is not
    /// one that the program has to free.
    pub(in crate::driver) fn free_of_graph_by_host(&mut self, address: CUdeviceptr) -> bool {
        let freeable = self.graphs.memory.is_freeable(address);
        if freeable {
            let last = self.graphs.memory.blocks.get(&address);
            let last = last.and_then(|block| block.last);
            self.graphs.memory.turn(address, false, last);
            self.memory.free_part(address);
        }
        freeable
    }

    /// What a launch of these steps has to free first: with `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH` what the
    /// last launch has left.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` when something is left without that flag, or is to be freed and not alive.
    pub(super) fn left_over(
        &self,
        steps: &[GraphStep],
        auto_free: bool,
    ) -> Result<Vec<CUdeviceptr>, CudaError> {
        let left = self.graphs.memory.left_over(steps)?;
        match left.is_empty() || auto_free {
            true => Ok(left),
            false => Err(CudaError::InvalidValue),
        }
    }

    /// Frees in stream order what a launch has left.
    pub(super) fn free_left_over(
        &mut self,
        address: CUdeviceptr,
        stream: CUstream,
        clock: Time,
        after: &[OpId],
    ) -> Result<(), CudaError> {
        let block = self.graphs.memory.blocks.get(&address);
        let bytes = block.ok_or(CudaError::InvalidValue)?.bytes;
        if !self.graphs.memory.is_freeable(address) {
            return Err(CudaError::InvalidValue);
        }
        let pool = None;
        let effect = Effect::Free(StreamOrdered {
            address,
            bytes,
            pool,
        });
        let op = self.submit_after(stream, clock, effect, after)?;
        self.graphs.memory.turn(address, false, Some(op));
        self.memory.free_part(address);
        Ok(())
    }

    /// A launch was submitted that ends with `end`.
    pub(super) fn note_launched_memory(&mut self, steps: &[GraphStep], end: OpId) {
        for step in steps {
            match &step.role {
                Role::Node(Action::Allocate(memory)) => {
                    self.graphs.memory.turn(memory.address, true, Some(end));
                    self.memory.add_part(memory.address, memory.bytes);
                }
                Role::Node(Action::Free(memory)) => {
                    self.graphs.memory.turn(memory.address, false, Some(end));
                    self.memory.free_part(memory.address);
                }
                _ => {}
            }
        }
    }
}
