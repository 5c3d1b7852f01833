//! The calls that are observed, and what each one's arguments mean.
//!
//! `Moment [legacy per-thread] (arguments) as "name" => action;` makes the functions that stand between the program and the
//! driver: one for each symbol. Handles are integers here, which every ABI passes as it does pointers. In an action,
//! `on(handle)` is the stream that a handle means: null is the legacy default stream, and in the second symbol
//! the calling thread's own.

use super::{Action, Copied, Moment, StreamHandle, pass};
use crate::result::CuResult;
use crate::slots;
use crate::symbols::Symbol;
use core::ffi::{c_int, c_uint, c_void};
use core::mem::transmute;
use core::ptr::null_mut;
use core::slice;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A symbol, the function that stands before it, and where that one finds the driver's.
type Observed = (Symbol, *mut c_void, &'static AtomicPtr<c_void>);

/// Puts the functions below before the driver's.
pub(super) fn stand_between() {
    for (symbol, function, driver) in observed() {
        driver.store(slots::function(symbol).cast_mut(), Ordering::Release);
        slots::replace(symbol, function);
    }
}

/// One symbol's row.
macro_rules! row {
    ($symbol:ident, $Default:ident, $moment:ident, ($($argument:ident: $Type:ty),*), $name:literal, $on:ident, $action:expr) => {{
        static DRIVER: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
        unsafe extern "C" fn between($($argument: $Type),*) -> CuResult {
            type EntryPoint = unsafe extern "C" fn($($Type),*) -> CuResult;
            let driver = DRIVER.load(Ordering::Acquire);
            // SAFETY: what the symbol's slot held: a function with the signature of cuda.h.
            let driver = unsafe { transmute::<*mut c_void, EntryPoint>(driver) };
            #[allow(unused_variables)]
            let $on = |handle: usize| StreamHandle::of(handle, StreamHandle::$Default);
            // SAFETY: the caller's arguments, unchanged.
            pass($name, Moment::$moment, || $action, || unsafe { driver($($argument),*) })
        }
        (Symbol::$symbol, between as *mut c_void, &DRIVER)
    }};
}

macro_rules! observed {
    (|$on:ident| $($moment:ident [$legacy:ident $($per_thread:ident)?] $arguments:tt as $name:literal => $action:expr;)*) => {
        fn observed() -> Vec<Observed> {
            vec![$(
                row!($legacy, LEGACY, $moment, $arguments, $name, $on, $action),
                $(row!($per_thread, PER_THREAD, $moment, $arguments, $name, $on, $action),)?
            )*]
        }
    };
}

/// What a call has stored at `place`, which it succeeded in.
fn stored(place: *const usize) -> usize {
    // SAFETY: the driver has just written a handle or an address there.
    unsafe { place.read_unaligned() }
}

fn copy(way: Copied, bytes: usize, stream: StreamHandle) -> Action {
    Action::Copy {
        way,
        bytes: bytes as u64,
        stream,
        waits: false,
    }
}

fn waited_copy(way: Copied, bytes: usize, stream: StreamHandle) -> Action {
    Action::Copy {
        way,
        bytes: bytes as u64,
        stream,
        waits: true,
    }
}

fn set(bytes: usize, stream: StreamHandle) -> Action {
    let bytes = bytes as u64;
    Action::Set { bytes, stream }
}

fn allocate(bytes: usize, stream: Option<StreamHandle>) -> Action {
    let bytes = bytes as u64;
    Action::Allocate { bytes, stream }
}

fn synchronize(stream: Option<StreamHandle>, event: Option<usize>) -> Action {
    Action::Synchronize { stream, event }
}

fn launch(
    function: usize,
    blocks: [c_uint; 3],
    threads: [c_uint; 3],
    shared_bytes: c_uint,
    stream: StreamHandle,
) -> Action {
    Action::Launch {
        function,
        blocks,
        threads,
        shared_bytes,
        cluster: [0; 3],
        stream,
    }
}

/// `CUlaunchConfig`.
#[repr(C)]
struct LaunchConfig {
    blocks: [c_uint; 3],
    threads: [c_uint; 3],
    shared_bytes: c_uint,
    stream: usize,
    attributes: *const LaunchAttribute,
    count: c_uint,
}

/// `CUlaunchAttribute`: an id, and 64 bytes that it gives a meaning.
#[repr(C)]
struct LaunchAttribute {
    id: c_uint,
    padding: c_uint,
    value: [c_uint; 16],
}

/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
const CLUSTER_DIMENSION: c_uint = 4;

impl LaunchConfig {
    /// Blocks of a cluster in x, y and z.
    fn cluster(&self) -> [c_uint; 3] {
        if self.attributes.is_null() {
            return [0; 3];
        }
        // SAFETY: cuLaunchKernelEx is passed as many attributes as the configuration says.
        let attributes = unsafe { slice::from_raw_parts(self.attributes, self.count as usize) };
        let found = attributes
            .iter()
            .find(|attribute| attribute.id == CLUSTER_DIMENSION);
        found.map_or([0; 3], |attribute| {
            let [x, y, z, ..] = attribute.value;
            [x, y, z]
        })
    }
}

fn launch_of(
    config: *const LaunchConfig,
    function: usize,
    on: impl Fn(usize) -> StreamHandle,
) -> Action {
    // SAFETY: cuLaunchKernelEx is passed a CUlaunchConfig, or null.
    match unsafe { config.as_ref() } {
        Some(config) => Action::Launch {
            function,
            blocks: config.blocks,
            threads: config.threads,
            shared_bytes: config.shared_bytes,
            cluster: config.cluster(),
            stream: on(config.stream),
        },
        None => Action::Other,
    }
}

type Pointer = *mut c_void;

observed! { |on|
    Around [cuLaunchKernel cuLaunchKernel_ptsz] (f: usize, bx: c_uint, by: c_uint, bz: c_uint, tx: c_uint, ty: c_uint,
        tz: c_uint, shared: c_uint, stream: usize, parameters: Pointer, extra: Pointer)
        as "cuLaunchKernel" => launch(f, [bx, by, bz], [tx, ty, tz], shared, on(stream));
    Around [cuLaunchCooperativeKernel cuLaunchCooperativeKernel_ptsz] (f: usize, bx: c_uint, by: c_uint, bz: c_uint,
        tx: c_uint, ty: c_uint, tz: c_uint, shared: c_uint, stream: usize, parameters: Pointer)
        as "cuLaunchCooperativeKernel" => launch(f, [bx, by, bz], [tx, ty, tz], shared, on(stream));
    Around [cuLaunchKernelEx cuLaunchKernelEx_ptsz] (config: *const LaunchConfig, f: usize, parameters: Pointer, extra: Pointer)
        as "cuLaunchKernelEx" => launch_of(config, f, on);
    Around [cuLaunchHostFunc cuLaunchHostFunc_ptsz] (stream: usize, function: Pointer, data: Pointer)
        as "cuLaunchHostFunc" => Action::HostFunction { stream: on(stream) };
    Around [cuStreamAddCallback cuStreamAddCallback_ptsz] (stream: usize, function: Pointer, data: Pointer, flags: c_uint)
        as "cuStreamAddCallback" => Action::HostFunction { stream: on(stream) };
    Around [cuGraphLaunch cuGraphLaunch_ptsz] (graph: usize, stream: usize)
        as "cuGraphLaunch" => Action::Graph { stream: on(stream) };
    Around [cuStreamBeginCapture_v2 cuStreamBeginCapture_v2_ptsz] (stream: usize, mode: c_uint)
        as "cuStreamBeginCapture" => Action::Other;
    Around [cuStreamEndCapture cuStreamEndCapture_ptsz] (stream: usize, graph: *mut usize)
        as "cuStreamEndCapture" => Action::Other;
    Around [cuGraphInstantiate_v2] (exec: *mut usize, graph: usize, node: Pointer, log: Pointer, bytes: usize)
        as "cuGraphInstantiate" => Action::Other;
    Around [cuGraphExecUpdate] (exec: usize, graph: usize, node: Pointer, result: Pointer)
        as "cuGraphExecUpdate" => Action::Other;
    Around [cuGraphExecKernelNodeSetParams] (exec: usize, node: usize, parameters: Pointer)
        as "cuGraphExecKernelNodeSetParams" => Action::Other;

    Around [cuMemcpyHtoDAsync_v2 cuMemcpyHtoDAsync_v2_ptsz] (to: u64, from: Pointer, bytes: usize, stream: usize)
        as "cuMemcpyHtoDAsync" => copy(Copied::HostToDevice, bytes, on(stream));
    Around [cuMemcpyDtoHAsync_v2 cuMemcpyDtoHAsync_v2_ptsz] (to: Pointer, from: u64, bytes: usize, stream: usize)
        as "cuMemcpyDtoHAsync" => copy(Copied::DeviceToHost, bytes, on(stream));
    Around [cuMemcpyDtoDAsync_v2 cuMemcpyDtoDAsync_v2_ptsz] (to: u64, from: u64, bytes: usize, stream: usize)
        as "cuMemcpyDtoDAsync" => copy(Copied::DeviceToDevice, bytes, on(stream));
    Around [cuMemcpyAsync cuMemcpyAsync_ptsz] (to: u64, from: u64, bytes: usize, stream: usize)
        as "cuMemcpyAsync" => copy(Copied::Unified, bytes, on(stream));
    Around [cuMemcpyPeerAsync cuMemcpyPeerAsync_ptsz] (to: u64, to_context: usize, from: u64, from_context: usize,
        bytes: usize, stream: usize) as "cuMemcpyPeerAsync" => copy(Copied::DeviceToDevice, bytes, on(stream));
    Around [cuMemcpyHtoD_v2 cuMemcpyHtoD_v2_ptds] (to: u64, from: Pointer, bytes: usize)
        as "cuMemcpyHtoD" => waited_copy(Copied::HostToDevice, bytes, on(0));
    Around [cuMemcpyDtoH_v2 cuMemcpyDtoH_v2_ptds] (to: Pointer, from: u64, bytes: usize)
        as "cuMemcpyDtoH" => waited_copy(Copied::DeviceToHost, bytes, on(0));
    Around [cuMemcpyDtoD_v2 cuMemcpyDtoD_v2_ptds] (to: u64, from: u64, bytes: usize)
        as "cuMemcpyDtoD" => copy(Copied::DeviceToDevice, bytes, on(0));
    Around [cuMemcpy cuMemcpy_ptds] (to: u64, from: u64, bytes: usize)
        as "cuMemcpy" => waited_copy(Copied::Unified, bytes, on(0));

    Around [cuMemsetD8Async cuMemsetD8Async_ptsz] (to: u64, value: u8, count: usize, stream: usize)
        as "cuMemsetD8Async" => set(count, on(stream));
    Around [cuMemsetD16Async cuMemsetD16Async_ptsz] (to: u64, value: u16, count: usize, stream: usize)
        as "cuMemsetD16Async" => set(count.saturating_mul(2), on(stream));
    Around [cuMemsetD32Async cuMemsetD32Async_ptsz] (to: u64, value: u32, count: usize, stream: usize)
        as "cuMemsetD32Async" => set(count.saturating_mul(4), on(stream));
    Around [cuMemsetD8_v2 cuMemsetD8_v2_ptds] (to: u64, value: u8, count: usize)
        as "cuMemsetD8" => set(count, on(0));
    Around [cuMemsetD16_v2 cuMemsetD16_v2_ptds] (to: u64, value: u16, count: usize)
        as "cuMemsetD16" => set(count.saturating_mul(2), on(0));
    Around [cuMemsetD32_v2 cuMemsetD32_v2_ptds] (to: u64, value: u32, count: usize)
        as "cuMemsetD32" => set(count.saturating_mul(4), on(0));

    After [cuStreamCreate] (stream: *mut usize, flags: c_uint)
        as "cuStreamCreate" => Action::CreateStream { stream: StreamHandle(stored(stream)), flags, priority: 0 };
    After [cuStreamCreateWithPriority] (stream: *mut usize, flags: c_uint, priority: c_int)
        as "cuStreamCreateWithPriority" => Action::CreateStream { stream: StreamHandle(stored(stream)), flags, priority };
    Around [cuStreamDestroy_v2] (stream: usize) as "cuStreamDestroy" => Action::DestroyStream { stream: StreamHandle(stream) };
    Around [cuStreamSynchronize cuStreamSynchronize_ptsz] (stream: usize)
        as "cuStreamSynchronize" => synchronize(Some(on(stream)), None);
    Around [cuStreamWaitEvent cuStreamWaitEvent_ptsz] (stream: usize, event: usize, flags: c_uint)
        as "cuStreamWaitEvent" => Action::WaitEvent { stream: on(stream), event };
    After [cuEventCreate] (event: *mut usize, flags: c_uint) as "cuEventCreate" => Action::CreateEvent { event: stored(event), flags };
    Around [cuEventRecord cuEventRecord_ptsz] (event: usize, stream: usize)
        as "cuEventRecord" => Action::RecordEvent { event, stream: on(stream) };
    Around [cuEventRecordWithFlags cuEventRecordWithFlags_ptsz] (event: usize, stream: usize, flags: c_uint)
        as "cuEventRecordWithFlags" => Action::RecordEvent { event, stream: on(stream) };
    Around [cuEventSynchronize] (event: usize) as "cuEventSynchronize" => synchronize(None, Some(event));
    Around [cuCtxSynchronize] () as "cuCtxSynchronize" => synchronize(None, None);
    Around [cuEventElapsedTime] (ms: *mut f32, start: usize, end: usize) as "cuEventElapsedTime" => Action::Other;
    Around [cuEventQuery] (event: usize) as "cuEventQuery" => Action::Other;
    Around [cuStreamQuery cuStreamQuery_ptsz] (stream: usize) as "cuStreamQuery" => Action::Other;

    Around [cuMemAlloc_v2] (to: *mut u64, bytes: usize) as "cuMemAlloc" => allocate(bytes, None);
    Around [cuMemAllocAsync cuMemAllocAsync_ptsz] (to: *mut u64, bytes: usize, stream: usize)
        as "cuMemAllocAsync" => allocate(bytes, Some(on(stream)));
    Around [cuMemAllocFromPoolAsync cuMemAllocFromPoolAsync_ptsz] (to: *mut u64, bytes: usize, pool: usize, stream: usize)
        as "cuMemAllocFromPoolAsync" => allocate(bytes, Some(on(stream)));
    Around [cuMemFree_v2] (address: u64) as "cuMemFree" => Action::Free { stream: None };
    Around [cuMemFreeAsync cuMemFreeAsync_ptsz] (address: u64, stream: usize)
        as "cuMemFreeAsync" => Action::Free { stream: Some(on(stream)) };
    Around [cuMemAllocHost_v2] (to: *mut Pointer, bytes: usize) as "cuMemAllocHost" => allocate(bytes, None);
    Around [cuMemHostAlloc] (to: *mut Pointer, bytes: usize, flags: c_uint) as "cuMemHostAlloc" => allocate(bytes, None);
    Around [cuMemHostRegister_v2] (start: Pointer, bytes: usize, flags: c_uint)
        as "cuMemHostRegister" => allocate(bytes, None);
    Around [cuMemHostUnregister] (start: Pointer) as "cuMemHostUnregister" => Action::Free { stream: None };
    Around [cuMemFreeHost] (start: Pointer) as "cuMemFreeHost" => Action::Free { stream: None };

    Around [cuModuleLoadDataEx] (module: *mut usize, image: Pointer, count: c_uint, options: Pointer, values: Pointer)
        as "cuModuleLoadDataEx" => Action::Other;
    After [cuModuleGetFunction] (f: *mut usize, module: usize, name: Pointer)
        as "cuModuleGetFunction" => Action::GetFunction { function: stored(f), name: name as usize };
}
