//! Contexts: primary ones, created ones, and each thread's stack of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_uint, c_void};

use super::device::Primary;
use crate::activity::log;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::handles::Table;
use crate::driver::c_abi::types::{CUcontext, CUdevice, CUstream, Out};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::host::threads::{ThreadSerial, current};
use crate::driver::simulation::simulator::Simulator;
use crate::driver::streams::stream::Stream;
use crate::memory::AllocationKind;
use crate::timeline::profile::DeviceProfile;
use crate::timeline::{OpId, Time};

/// `CU_CTX_SCHED_BLOCKING_SYNC`.
const BLOCKING_SYNC: c_uint = 4;
/// `CU_CTX_FLAGS_MASK` of CUDA 13.
const FLAGS: c_uint = 0xff;

/// `CU_LIMIT_STACK_SIZE`.
const LIMIT_STACK: c_uint = 0;
/// `CU_LIMIT_PERSISTING_L2_CACHE_SIZE`.
const LIMIT_PERSISTING_L2: c_uint = 6;
/// `CU_LIMIT_SHMEM_SIZE`.
const LIMIT_SHARED_BYTES: c_uint = 7;
/// `CU_LIMIT_CIG_ENABLED`.
const LIMIT_SHARED_GRAPHICS: c_uint = 8;
/// `CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE`.
const MAX_PERSISTING_L2_CACHE_SIZE: c_int = 108;

/// One context.
#[derive(Debug)]
pub(in crate::driver) struct Context {
    /// The device's ordinal.
    pub(in crate::driver) device: usize,
    pub(in crate::driver) flags: c_uint,
    /// The contexts whose memory it can access: `cuCtxEnablePeerAccess`.
    pub(in crate::driver) peers: BTreeSet<CUcontext>,
    /// What a kernel left behind: every later call returns it.
    pub(in crate::driver) fault: Option<CudaError>,
    /// The legacy default stream.
    pub(in crate::driver) legacy: CUstream,
    /// The per-thread default streams of the threads that used theirs.
    pub(in crate::driver) per_thread: BTreeMap<ThreadSerial, CUstream>,
    /// Last operations of destroyed streams, and whether the streams were blocking.
    pub(in crate::driver) orphans: Vec<(OpId, bool)>,
    pub(in crate::driver) cache_config: c_uint,
    pub(in crate::driver) shared_config: c_uint,
    pub(in crate::driver) limits: BTreeMap<c_uint, usize>,
}

impl Context {
    /// `CU_LIMIT_STACK_SIZE`: bytes of a thread's stack, where the kernel's need is not known.
    pub(in crate::driver) fn stack_limit(&self) -> u32 {
        let limit = self.limits.get(&LIMIT_STACK).copied();
        u32::try_from(limit.unwrap_or(0)).unwrap_or(u32::MAX)
    }
}

/// `CUctxCreateParams`.
#[repr(C)]
struct CreateParameters {
    affinities: *const c_void,
    affinity_count: c_int,
    graphics: *const c_void,
}

impl CreateParameters {
    /// Whether the context has parameters.
    fn ask_for_more(&self) -> bool {
        let _ = self.affinities;
        self.affinity_count != 0 || !self.graphics.is_null()
    }
}

entry_points! {
    fn cuDevicePrimaryCtxRetain(context: Out<CUcontext>, device: CUdevice) {
        let context = context.required()?;
        call(Cost::Other, |call| {
            let Primary { flags, context: active, .. } = call.device(device)?.primary;
            let primary = match active {
                Some(primary) => primary,
                None => call.create_context(device, flags)?,
            };
            let state = &mut call.device_mut(device)?.primary;
            state.context = Some(primary);
            state.users += 1;
            context.set(primary)
        })
    }

    fn cuDevicePrimaryCtxRelease | cuDevicePrimaryCtxRelease_v2 (device: CUdevice) {
        call(Cost::Other, |call| {
            let state = &mut call.device_mut(device)?.primary;
            state.users = state.users.checked_sub(1).ok_or(CudaError::InvalidContext)?;
            if state.users == 0 { reset_primary(call, device) } else { Ok(()) }
        })
    }

    fn cuDevicePrimaryCtxReset | cuDevicePrimaryCtxReset_v2 (device: CUdevice) {
        call(Cost::Other, |call| reset_primary(call, device))
    }

    fn cuDevicePrimaryCtxSetFlags | cuDevicePrimaryCtxSetFlags_v2 (device: CUdevice, flags: c_uint) {
        call(Cost::Free, |call| {
            let state = &mut call.device_mut(device)?.primary;
            state.flags = valid_flags(flags)?;
            if let Some(primary) = state.context {
                call.contexts.get_mut(primary)?.flags = flags;
            }
            Ok(())
        })
    }

    fn cuDevicePrimaryCtxGetState(device: CUdevice, flags: Out<c_uint>, active: Out<c_int>) {
        call(Cost::Free, |call| {
            let state = &call.device(device)?.primary;
            flags.set(state.flags)?;
            active.set(c_int::from(state.context.is_some()))
        })
    }

    fn cuCtxCreate_v2(context: Out<CUcontext>, flags: c_uint, device: CUdevice) {
        create(context, flags, device)
    }

    fn cuCtxCreate_v3(context: Out<CUcontext>, _parameters: *const c_void, count: c_int, flags: c_uint, device: CUdevice) {
        if count != 0 {
            return Err(CudaError::UnsupportedExecAffinity);
        }
        create(context, flags, device)
    }

    fn cuCtxCreate_v4(context: Out<CUcontext>, parameters: *const c_void, flags: c_uint, device: CUdevice) {
        // SAFETY: the caller passes null or a `CUctxCreateParams`.
        if unsafe { parameters.cast::<CreateParameters>().as_ref() }.is_some_and(CreateParameters::ask_for_more) {
            return Err(CudaError::UnsupportedExecAffinity);
        }
        create(context, flags, device)
    }

    fn cuCtxDestroy_v2(context: CUcontext) {
        call(Cost::Other, |call| {
            if context.is_null() {
                return Err(CudaError::InvalidValue);
            }
            if call.is_primary(context) {
                return Err(CudaError::InvalidContext);
            }
            destroy(call, context)?;
            current::with_contexts(|stack| stack.pop_if(|top| *top == context));
            Ok(())
        })
    }

    fn cuCtxPushCurrent_v2(context: CUcontext) {
        call(Cost::Free, |call| {
            call.contexts.get(context).map_err(|_| CudaError::InvalidContext)?;
            current::with_contexts(|stack| stack.push(context));
            Ok(())
        })
    }

    fn cuCtxPopCurrent_v2(context: Out<CUcontext>) {
        call(Cost::Free, |_| {
            let popped = current::with_contexts(Vec::pop).ok_or(CudaError::InvalidContext)?;
            context.set_if_wanted(popped);
            Ok(())
        })
    }

    fn cuCtxSetCurrent(context: CUcontext) {
        call(Cost::Free, |call| {
            if !context.is_null() {
                call.contexts.get(context).map_err(|_| CudaError::InvalidContext)?;
            }
            current::with_contexts(|stack| {
                stack.pop();
                if !context.is_null() {
                    stack.push(context);
                }
            });
            Ok(())
        })
    }

    fn cuCtxGetCurrent(context: Out<CUcontext>) {
        call(Cost::Free, |_| {
            let current = current::with_contexts(|stack| stack.last().copied());
            context.set(current.unwrap_or(CUcontext::NULL))
        })
    }

    fn cuCtxGetDevice(device: Out<CUdevice>) {
        call(Cost::Free, |call| {
            let context = call.context()?;
            device.set(call.contexts.get(context)?.device as CUdevice)
        })
    }

    fn cuCtxGetId(context: CUcontext, id: Out<u64>) {
        call(Cost::Free, |call| {
            let context = if context.is_null() { call.context()? } else { call.usable(context)? };
            id.set(Table::<CUcontext, Context>::serial(context))
        })
    }

    fn cuCtxGetApiVersion(context: CUcontext, version: Out<c_uint>) {
        /// What contexts of this age have reported since CUDA 3.2.
        const API_VERSION: c_uint = 3020;
        call(Cost::Free, |call| {
            if context.is_null() { call.context()? } else { call.usable(context)? };
            version.set(API_VERSION)
        })
    }

    fn cuCtxGetFlags(flags: Out<c_uint>) {
        call(Cost::Free, |call| {
            let context = call.context()?;
            flags.set(call.contexts.get(context)?.flags)
        })
    }

    fn cuCtxSetFlags(flags: c_uint) {
        call(Cost::Free, |call| {
            let context = call.context()?;
            call.contexts.get_mut(context)?.flags = valid_flags(flags)?;
            Ok(())
        })
    }

    fn cuCtxGetLimit(value: Out<usize>, limit: c_uint) {
        call(Cost::Free, |call| {
            let context = call.context()?;
            let limits = &call.contexts.get(context)?.limits;
            value.set(*limits.get(&limit).ok_or(no_limit(limit))?)
        })
    }

    fn cuCtxSetLimit(limit: c_uint, value: usize) {
        call(Cost::Other, |call| {
            let context = call.context()?;
            call.unsafe_in_captures()?;
            let device = &call.profile_of(context)?.device;
            let most_persisting = device.attribute(MAX_PERSISTING_L2_CACHE_SIZE).unwrap_or(0) as usize;
            let step = persisting_step(device).max(1);
            let limits = &mut call.contexts.get_mut(context)?.limits;
            let kept = limits.get_mut(&limit).ok_or(no_limit(limit))?;
            *kept = match limit {
                LIMIT_SHARED_BYTES | LIMIT_SHARED_GRAPHICS => return Err(CudaError::UnsupportedLimit),
                LIMIT_PERSISTING_L2 => value.min(most_persisting).next_multiple_of(step).min(most_persisting),
                _ => value,
            };
            Ok(())
        })
    }

    fn cuCtxGetCacheConfig(config: Out<c_uint>) {
        call(Cost::Free, |call| {
            let context = call.context()?;
            config.set(call.contexts.get(context)?.cache_config)
        })
    }

    fn cuCtxSetCacheConfig(config: c_uint) {
        call(Cost::Free, |call| {
            let context = call.context()?;
            call.contexts.get_mut(context)?.cache_config = at_most(config, 3)?;
            Ok(())
        })
    }

    fn cuCtxGetSharedMemConfig(config: Out<c_uint>) {
        call(Cost::Free, |call| {
            let context = call.context()?;
            config.set(call.contexts.get(context)?.shared_config)
        })
    }

    fn cuCtxSetSharedMemConfig(config: c_uint) {
        call(Cost::Free, |call| {
            let context = call.context()?;
            call.contexts.get_mut(context)?.shared_config = at_most(config, 2)?;
            Ok(())
        })
    }

    fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        call(Cost::Free, |call| {
            let device = &call.profile_of(call.context()?)?.device;
            least.set_if_wanted(device.least_stream_priority);
            greatest.set_if_wanted(device.greatest_stream_priority);
            Ok(())
        })
    }

    fn cuCtxSynchronize() {
        call(Cost::Synchronize, |call| {
            let context = call.context()?;
            call.waits_for_captures(context)?;
            call.synchronize_context(context)
        })
    }

    fn cuCtxGetDevice_v2(device: Out<CUdevice>, context: CUcontext) {
        call(Cost::Free, |call| {
            let context = if context.is_null() { call.context()? } else { call.usable(context)? };
            device.set(call.contexts.get(context)?.device as CUdevice)
        })
    }

    fn cuCtxSynchronize_v2(context: CUcontext) {
        call(Cost::Synchronize, |call| {
            let context = if context.is_null() { call.context()? } else { call.usable(context)? };
            call.synchronize_context(context)
        })
    }
}

fn create(context: Out<CUcontext>, flags: c_uint, device: CUdevice) -> Result<(), CudaError> {
    let context = context.required()?;
    call(Cost::Other, |call| {
        call.device(device)?;
        let created = call.create_context(device, valid_flags(flags)?)?;
        current::with_contexts(|stack| stack.push(created));
        context.set(created)
    })
}

fn valid_flags(flags: c_uint) -> Result<c_uint, CudaError> {
    /// `CU_CTX_SCHED_*` exclude each other.
    const SCHED_MASK: c_uint = 7;
    let one_schedule = matches!(flags & SCHED_MASK, 0 | 1 | 2 | 4);
    if flags & !FLAGS == 0 && one_schedule {
        Ok(flags)
    } else {
        Err(CudaError::InvalidValue)
    }
}

fn at_most(value: c_uint, limit: c_uint) -> Result<c_uint, CudaError> {
    if value <= limit {
        Ok(value)
    } else {
        Err(CudaError::InvalidValue)
    }
}

fn reset_primary(call: &mut Call, device: CUdevice) -> Result<(), CudaError> {
    match call.device_mut(device)?.primary.context.take() {
        Some(primary) => destroy(call, primary),
        None => Ok(()),
    }
}

/// Waits for the context's work, then destroys all that belongs to it.
fn destroy(call: &mut Call, context: CUcontext) -> Result<(), CudaError> {
    call.contexts
        .get(context)
        .map_err(|_| CudaError::InvalidContext)?;
    call.drain(context)?;
    call.contexts.remove(context)?;
    call.ordering.context_destroyed(context);
    call.end_captures_of(context);
    call.destroy_streams_of(context);
    call.events.retain(|event| event.context != context);
    call.functions
        .retain(|function| function.context != context);
    call.modules.retain(|module| module.context != context);
    for other in call.contexts.iter_mut() {
        other.peers.remove(&context);
    }
    call.destroy_textures_of(context);
    call.free_all_of(context);
    Ok(())
}

impl Call {
    /// Waits for all work of the context, of whichever stream.
    ///
    /// # Errors
    /// The error of a kernel that failed in the meantime.
    pub(in crate::driver) fn synchronize_context(
        &mut self,
        context: CUcontext,
    ) -> Result<(), CudaError> {
        self.drain(context)?;
        self.usable(context).map(|_| ())
    }

    /// Waits for all work of the current context and of the others that can reach the memory at `address`: its owner and those with peer access to
    /// it, or all contexts if it is page-locked.
    ///
    /// # Errors
    /// The error of a kernel of the current context.
    pub(in crate::driver) fn synchronize_users(
        &mut self,
        current: CUcontext,
        address: u64,
    ) -> Result<(), CudaError> {
        let owned = self.owned.get(&address).copied();
        let reaches = |handle: CUcontext, context: &Context| {
            owned.is_some_and(|owned| {
                owned.kind == AllocationKind::PageLocked
                    || owned.context == handle
                    || context.peers.contains(&owned.context)
            })
        };
        let contexts = self.contexts.iter();
        let users: Vec<_> = contexts
            .filter(|(handle, context)| *handle != current && reaches(*handle, context))
            .map(|(handle, _)| handle)
            .collect();
        for user in users {
            self.drain(user)?;
        }
        self.synchronize_context(current)
    }

    /// Waits for all work of the context, whether it fails or not.
    fn drain(&mut self, context: CUcontext) -> Result<(), CudaError> {
        let operations = self.operations_of(context)?;
        self.ordering.context_synchronized(context);
        let wake_up = self.wake_up(context)?;
        self.wait(operations, wake_up)?;
        let released = self.pools_after_context(context);
        self.give_back(released);
        Ok(())
    }

    /// From the end of what a thread waits for to the return of its call.
    pub(in crate::driver) fn wake_up(&self, context: CUcontext) -> Result<Time, CudaError> {
        let host = self.host();
        let blocking = self.contexts.get(context)?.flags & BLOCKING_SYNC != 0;
        Ok(if blocking {
            host.blocking_wake_up_us.micros()
        } else {
            host.wake_up_us.micros()
        })
    }
}

impl Simulator {
    fn create_context(&mut self, device: CUdevice, flags: c_uint) -> Result<CUcontext, CudaError> {
        let device = self.ordinal(device)?;
        let timeline = self.timeline.add_stream(device, 0);
        let context = self.contexts.insert(Context {
            device,
            peers: BTreeSet::new(),
            flags,
            fault: None,
            legacy: CUstream::NULL,
            per_thread: BTreeMap::new(),
            orphans: Vec::new(),
            cache_config: 0,
            shared_config: 0,
            limits: default_limits(&self.devices[device].profile.device),
        });
        let legacy = self.streams.insert(Stream {
            context,
            timeline,
            non_blocking: false,
            priority: 0,
            last: None,
        });
        self.contexts.get_mut(context)?.legacy = legacy;
        self.ordering.context_created(context, legacy);
        log::legacy_stream(
            Table::<CUstream, Stream>::serial(legacy),
            Table::<CUcontext, Context>::serial(context),
        );
        Ok(context)
    }

    pub(in crate::driver) fn operations_of(
        &mut self,
        context: CUcontext,
    ) -> Result<Vec<OpId>, CudaError> {
        self.prune_orphans(context)?;
        let streams = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.context == context);
        let last = streams.filter_map(|(_, stream)| stream.last);
        let orphans = self
            .contexts
            .get(context)?
            .orphans
            .iter()
            .map(|(op, _)| *op);
        Ok(last.chain(orphans).collect())
    }
}

/// What asking for a limit returns that a context does not keep.
fn no_limit(limit: c_uint) -> CudaError {
    /// `CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED`, the last one of CUDA 13.0.
    const LAST: c_uint = 9;
    if limit > LAST {
        CudaError::InvalidValue
    } else {
        CudaError::UnsupportedLimit
    }
}

/// Persisting lines of L2 are reserved in steps, in bytes, and a fresh context has three of them: as an H200 answers, whose L2 cache keeps
/// at most ten.
fn persisting_step(device: &DeviceProfile) -> usize {
    let most = device.attribute(MAX_PERSISTING_L2_CACHE_SIZE);
    most.unwrap_or(0).cast_unsigned().div_ceil(10) as usize
}

/// `CUlimit`: stack size, printf buffer, heap, pending launches, L2 fetch granularity, persisting lines of L2, and what a
/// context that shares the device with graphics (CIG) has; as a fresh context has them.
fn default_limits(device: &DeviceProfile) -> BTreeMap<c_uint, usize> {
    BTreeMap::from([
        (LIMIT_STACK, 1024),
        (1, 7_340_032),
        (2, 8 << 20),
        (4, 2048),
        (5, 128),
        (LIMIT_PERSISTING_L2, 3 * persisting_step(device)),
        (
            LIMIT_SHARED_BYTES,
            device.max_shared_memory_per_block_optin as usize,
        ),
        (LIMIT_SHARED_GRAPHICS, 0),
    ])
}
