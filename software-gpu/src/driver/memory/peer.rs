//! Several devices: access to each other's memory, and copies between them.

use std::collections::BTreeSet;
use std::ffi::{c_int, c_uint};

use super::boxes::Rows;
use super::copy_box::Request;
use super::copy_params::CUmemcpy3D;
use super::transfer::Pointer;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, CUdevice, CUdeviceptr, CUstream, Out};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::reasons::because_out_of_reach;
use crate::driver::simulation::operation::{Effect, Place, Side};
use crate::driver::simulation::simulator::Simulator;
use crate::driver::streams::stream::Mode;
use crate::memory::Allocation;
use crate::timeline::CopyKind;
use crate::timeline::profile::Link;
use Mode::{Async, Sync};

/// `CUdevice_P2PAttribute`.
const PERFORMANCE_RANK: c_uint = 1;
const ACCESS_SUPPORTED: c_uint = 2;
const NATIVE_ATOMIC_SUPPORTED: c_uint = 3;
const CUDA_ARRAY_ACCESS_SUPPORTED: c_uint = 4;
const ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED: c_uint = 5;

entry_points! {
    fn cuDeviceCanAccessPeer(can_access: Out<c_int>, device: CUdevice, peer: CUdevice) {
        call(Cost::Free, |call| {
            let (device, peer) = (call.ordinal(device)?, call.ordinal(peer)?);
            can_access.set(c_int::from(call.can_access_peer(device, peer)))
        })
    }

    fn cuDeviceGetP2PAttribute(value: Out<c_int>, attribute: c_uint, from: CUdevice, to: CUdevice) {
        let value = value.required()?;
        call(Cost::Free, |call| {
            let (from, to) = (call.ordinal(from)?, call.ordinal(to)?);
            if from == to {
                return Err(CudaError::InvalidDevice);
            }
            let link = call.link(from, to);
            value.set(match attribute {
                PERFORMANCE_RANK | ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED => 0,
                ACCESS_SUPPORTED | CUDA_ARRAY_ACCESS_SUPPORTED => c_int::from(link != Link::None),
                NATIVE_ATOMIC_SUPPORTED => c_int::from(link == Link::Nvlink),
                _ => return Err(CudaError::InvalidValue),
            })
        })
    }

    fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint) {
        call(Cost::Other, |call| {
            let context = call.context()?;
            if flags != 0 {
                return Err(CudaError::InvalidValue);
            }
            let peer_device = call.contexts.get(peer).map_err(|_| CudaError::InvalidContext)?.device;
            let device = call.contexts.get(context)?.device;
            if peer == context || call.link(device, peer_device) == Link::None {
                return Err(CudaError::PeerAccessUnsupported);
            }
            let is_new = call.contexts.get_mut(context)?.peers.insert(peer);
            if is_new { Ok(()) } else { Err(CudaError::PeerAccessAlreadyEnabled) }
        })
    }

    fn cuCtxDisablePeerAccess(peer: CUcontext) {
        call(Cost::Other, |call| {
            let context = call.context()?;
            call.contexts.get(peer).map_err(|_| CudaError::InvalidContext)?;
            let was_there = call.contexts.get_mut(context)?.peers.remove(&peer);
            if was_there { Ok(()) } else { Err(CudaError::PeerAccessNotEnabled) }
        })
    }

    fn cuMemcpyPeer | cuMemcpyPeer_ptds as null (
        to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize,
    ) {
        copy(Sync(null), [to, from], [to_context, from_context], bytes)
    }

    fn cuMemcpyPeerAsync | cuMemcpyPeerAsync_ptsz as null (
        to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize,
        stream: CUstream,
    ) {
        copy(Async(null, stream), [to, from], [to_context, from_context], bytes)
    }

    fn cuMemcpy3DPeer | cuMemcpy3DPeer_ptds as null (description: *const CUmemcpy3D) {
        // SAFETY: the caller passes null or a description.
        copy_box(Sync(null), unsafe { description.as_ref() })
    }

    fn cuMemcpy3DPeerAsync | cuMemcpy3DPeerAsync_ptsz as null (description: *const CUmemcpy3D, stream: CUstream) {
        // SAFETY: as above.
        copy_box(Async(null, stream), unsafe { description.as_ref() })
    }
}

/// Contiguous bytes; destination first. Null stands for the current context.
fn copy(
    mode: Mode,
    [to, from]: [CUdeviceptr; 2],
    contexts: [CUcontext; 2],
    bytes: usize,
) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        let stream = call.stream_of(mode)?;
        call.spend_in(stream, Cost::Copy);
        let current = call.context()?;
        let contexts = contexts.map(|context| if context.0 == 0 { current } else { context });
        call.check_peers(contexts)?;
        if bytes == 0 {
            return Ok(());
        }
        let side = |address| call.side(Pointer::Device(address), Rows::row(bytes));
        let (to, from) = (side(to)?, side(from)?);
        call.copy_between(mode, stream, to, from, contexts)
    })
}

/// A box. Contexts belong to sides of device memory alone.
fn copy_box(mode: Mode, description: Option<&CUmemcpy3D>) -> Result<(), CudaError> {
    /// `CU_MEMORYTYPE_HOST`.
    const HOST: c_uint = 1;
    let description = description.ok_or(CudaError::InvalidValue)?;
    call(Cost::Free, |call| {
        let stream = call.stream_of(mode)?;
        call.spend_in(stream, Cost::Copy);
        let sides = [&description.to, &description.from];
        let on_device = sides.into_iter().filter(|side| side.memory_type != HOST);
        let contexts: Vec<_> = on_device.map(|side| CUcontext(side.context)).collect();
        call.check_peers(contexts.iter().copied())?;
        let request = Request::from(description);
        match call.sides(&request)? {
            Some((to, from)) => call.copy_between(mode, stream, to, from, contexts),
            None => Ok(()),
        }
    })
}

impl Call {
    fn check_peers(&self, contexts: impl IntoIterator<Item = CUcontext>) -> Result<(), CudaError> {
        for context in contexts {
            self.contexts
                .get(context)
                .map_err(|_| CudaError::InvalidContext)?;
            self.usable(context)?;
        }
        Ok(())
    }

    /// A copy between contexts. Between two devices a synchronous one comes after the earlier work of all streams of both
    /// contexts and of the current one, and before their later work. Within one device it is an ordinary copy, as on an
    /// H100.
    fn copy_between(
        &mut self,
        mode: Mode,
        stream: CUstream,
        to: Side,
        from: Side,
        contexts: impl IntoIterator<Item = CUcontext>,
    ) -> Result<(), CudaError> {
        if matches!(mode, Async(..)) || self.is_capturing(stream) {
            return self.copy(mode, stream, to, from);
        }
        let mut contexts: BTreeSet<CUcontext> = contexts.into_iter().collect();
        if self.devices_of(&contexts).len() < 2 {
            return self.copy(mode, stream, to, from);
        }
        contexts.insert(self.streams.get(stream)?.context);
        let mut earlier = Vec::new();
        for context in &contexts {
            earlier.extend(self.operations_of(*context)?);
        }
        let clock = self.clock();
        self.submit_after(stream, clock, Effect::Mark, &earlier)?;
        self.copy(mode, stream, to, from)?;
        let copied: Vec<_> = self.streams.get(stream)?.last.into_iter().collect();
        let others: Vec<_> = self
            .streams
            .iter()
            .filter(|(other, state)| *other != stream && contexts.contains(&state.context))
            .map(|(other, _)| other)
            .filter(|other| !self.is_capturing(*other))
            .collect();
        let clock = self.clock();
        for other in others {
            self.submit_after(other, clock, Effect::Mark, &copied)?;
        }
        Ok(())
    }
}

impl Simulator {
    /// Over what a device reaches another one's memory. Its own is not a peer's.
    fn link(&self, device: usize, peer: usize) -> Link {
        if device == peer {
            return Link::None;
        }
        self.devices[device].profile.peer.link
    }

    /// Whether a device can be given access to another one's memory.
    pub(in crate::driver) fn can_access_peer(&self, device: usize, peer: usize) -> bool {
        self.link(device, peer) != Link::None
    }

    /// How bytes get from one place in device memory to another.
    pub(in crate::driver) fn kind_between(&self, from: Place, to: Place) -> CopyKind {
        let device = |place| match place {
            Place::Mapped(address) => self.memory.find(address)?.device(),
            Place::Pageable(_) => None,
        };
        match (device(from), device(to)) {
            (Some(from), Some(to)) if from != to => {
                if self.has_access(from, to) || self.has_access(to, from) {
                    CopyKind::PeerToPeer {
                        from: from as u8,
                        to: to as u8,
                    }
                } else {
                    CopyKind::PeerThroughHost
                }
            }
            _ => CopyKind::DeviceToDevice,
        }
    }

    /// Whether some context of a device can access memory of another device.
    fn has_access(&self, device: usize, peer: usize) -> bool {
        let contexts = self.contexts.iter().map(|(_, context)| context);
        contexts
            .filter(|context| context.device == device)
            .any(|context| self.devices_of(&context.peers).contains(&peer))
    }

    fn devices_of(&self, contexts: &BTreeSet<CUcontext>) -> BTreeSet<usize> {
        let device = |context: &CUcontext| Some(self.contexts.get(*context).ok()?.device);
        contexts.iter().filter_map(device).collect()
    }

    /// Whether a copy or a memset of `context` reaches these places: the current context for a copy, whatever its stream, and the stream's
    /// context for a memset. Its device reaches a pool's memory if the pool is its own or grants it access, and any other memory. Copies
    /// between named contexts reach all memory.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` when it does not.
    pub(in crate::driver) fn within_reach(
        &self,
        context: CUcontext,
        places: &[Place],
    ) -> Result<(), CudaError> {
        if self.devices.len() < 2 {
            return Ok(());
        }
        let device = self.contexts.get(context)?.device;
        let denied = places.iter().find_map(|place| match place {
            Place::Mapped(address) => {
                let is_denied = self.pools.accessible_from(*address, device) == Some(false);
                is_denied.then(|| self.memory.find(*address).and_then(Allocation::device))
            }
            Place::Pageable(_) => None,
        });
        match denied {
            Some(owner) => Err(because_out_of_reach(owner.unwrap_or_default(), device)),
            None => Ok(()),
        }
    }

    /// The bases of the allocations that kernels of a context cannot reach: those of other devices, unless peer access
    /// was enabled or a memory pool grants it.
    pub(in crate::driver) fn out_of_reach(&self, context: CUcontext) -> BTreeSet<u64> {
        let (1.., Ok(context)) = (self.devices.len() - 1, self.contexts.get(context)) else {
            return BTreeSet::new();
        };
        let peers = self.devices_of(&context.peers);
        let foreign = self.memory.allocations().iter().filter(|allocation| {
            let device = allocation.device();
            device.is_some_and(|device| device != context.device)
        });
        let hidden = foreign.filter(|allocation| {
            let by_pool = self
                .pools
                .accessible_from(allocation.base(), context.device);
            let by_peer = allocation
                .device()
                .is_some_and(|device| peers.contains(&device));
            !by_pool.unwrap_or(by_peer)
        });
        hidden.map(|allocation| allocation.base()).collect()
    }

    /// What memory lies at an address that a kernel of a context cannot reach, and which call would let it: lines to
    /// follow the text of the kernel's fault.
    pub(in crate::driver) fn way_to_reach(&self, context: CUcontext, address: u64) -> String {
        let owner = self.memory.find(address).and_then(Allocation::device);
        let reader = self.contexts.get(context).map(|context| context.device);
        let (Some(owner), Ok(reader)) = (owner, reader) else {
            return String::new();
        };
        if self.pools.accessible_from(address, reader).is_some() {
            let pool = match self.pools.allocation_at(address) {
                Some((base, allocation)) => format!(
                    "at offset {} of an allocation of {} bytes of a memory pool",
                    address - base,
                    allocation.bytes
                ),
                None => "in a memory pool".to_owned(),
            };
            return format!(
                "\n  it lies {pool} of device {owner}: cuMemPoolSetAccess gives device {reader} access to the pool, \
                 cuCtxEnablePeerAccess does not"
            );
        }
        format!(
            "\n  it lies in memory of device {owner}: cuCtxEnablePeerAccess gives a context of device {reader} access to it"
        )
    }
}
