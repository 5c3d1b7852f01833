//! The driver's calls as the measurements need them: thin, so that what is timed is the driver.

use anyhow::{Result, bail};
use cust::sys::{self, cudaError_enum};
use examples_host::host_clock;
use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::time::Duration;

pub type Stream = sys::CUstream;
pub type Event = sys::CUevent;
pub type Module = sys::CUmodule;
pub type Function = sys::CUfunction;
/// A device address.
pub type DeviceAddress = u64;

/// Fails, naming the call, unless the driver says success.
pub fn check(call: &str, result: cudaError_enum) -> Result<()> {
    if result == cudaError_enum::CUDA_SUCCESS {
        return Ok(());
    }
    let mut name = ptr::null();
    // SAFETY: the driver writes a pointer to a constant string, or null.
    let name = unsafe {
        sys::cuGetErrorName(result, &mut name);
        (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy())
    };
    bail!("{call}: {}", name.unwrap_or("an unknown error".into()))
}

/// Makes a driver call that only takes values and live handles, and returns its error with its name.
macro_rules! cu {
    ($name:ident($($argument:expr),* $(,)?)) => {
        $crate::gpu::check(
            stringify!($name),
            // SAFETY: the arguments are those of cuda.h; handles and memory live as long as the process.
            unsafe { cust::sys::$name($($argument),*) },
        )
    };
}
pub(crate) use cu;

pub fn stream() -> Result<Stream> {
    let mut stream = ptr::null_mut();
    let flags = sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32;
    cu!(cuStreamCreate(&mut stream, flags))?;
    Ok(stream)
}

pub fn streams(count: usize) -> Result<Vec<Stream>> {
    (0..count).map(|_| stream()).collect()
}

fn event(flags: sys::CUevent_flags_enum) -> Result<Event> {
    event_of(flags as u32)
}

fn event_of(flags: u32) -> Result<Event> {
    let mut event = ptr::null_mut();
    cu!(cuEventCreate(&mut event, flags))?;
    Ok(event)
}

pub fn timing_event() -> Result<Event> {
    event(sys::CUevent_flags_enum::CU_EVENT_DEFAULT)
}

pub fn untimed_event() -> Result<Event> {
    event(sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING)
}

pub fn record(event: Event, stream: Stream) -> Result<()> {
    cu!(cuEventRecord(event, stream))
}

pub fn wait(stream: Stream, event: Event) -> Result<()> {
    cu!(cuStreamWaitEvent(stream, event, 0))
}

pub fn synchronize() -> Result<()> {
    cu!(cuCtxSynchronize())
}

/// An event that the host waits for asleep.
pub fn blocking_event() -> Result<Event> {
    use sys::CUevent_flags_enum::{CU_EVENT_BLOCKING_SYNC, CU_EVENT_DISABLE_TIMING};
    event_of(CU_EVENT_BLOCKING_SYNC as u32 | CU_EVENT_DISABLE_TIMING as u32)
}

/// Whether an event has been reached.
pub fn is_reached(event: Event) -> Result<bool> {
    // SAFETY: the event lives as long as the process.
    match unsafe { sys::cuEventQuery(event) } {
        sys::cudaError_enum::CUDA_ERROR_NOT_READY => Ok(false),
        other => check("cuEventQuery", other).map(|()| true),
    }
}

/// The time between two completed events, in µs.
pub fn elapsed_us(start: Event, end: Event) -> Result<f64> {
    let mut milliseconds = 0.0;
    cu!(cuEventElapsedTime(&mut milliseconds, start, end))?;
    Ok(f64::from(milliseconds) * 1e3)
}

pub fn allocate(bytes: usize) -> Result<DeviceAddress> {
    let mut address = 0;
    cu!(cuMemAlloc_v2(&mut address, bytes))?;
    cu!(cuMemsetD8_v2(address, 0, bytes))?;
    Ok(address)
}

pub fn free(address: DeviceAddress) -> Result<()> {
    cu!(cuMemFree_v2(address))
}

/// Page-locked memory, zeroed.
pub fn pinned(bytes: usize) -> Result<*mut c_void> {
    let mut start = ptr::null_mut();
    cu!(cuMemHostAlloc(&mut start, bytes, 0))?;
    // SAFETY: the driver has just allocated this many bytes.
    unsafe { start.cast::<u8>().write_bytes(0, bytes) };
    Ok(start)
}

pub fn free_pinned(start: *mut c_void) -> Result<()> {
    cu!(cuMemFreeHost(start))
}

pub fn to_device(
    to: DeviceAddress,
    from: *const c_void,
    bytes: usize,
    stream: Stream,
) -> Result<()> {
    cu!(cuMemcpyHtoDAsync_v2(to, from, bytes, stream))
}

pub fn to_host(to: *mut c_void, from: DeviceAddress, bytes: usize, stream: Stream) -> Result<()> {
    cu!(cuMemcpyDtoHAsync_v2(to, from, bytes, stream))
}

/// A module of PTX text.
pub fn module(ptx: &str) -> Result<Module> {
    let text = CString::new(ptx)?;
    let mut module = ptr::null_mut();
    cu!(cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
    Ok(module)
}

pub fn function(module: Module, name: &str) -> Result<Function> {
    let name = CString::new(name)?;
    let mut function = ptr::null_mut();
    cu!(cuModuleGetFunction(&mut function, module, name.as_ptr()))?;
    Ok(function)
}

/// Launches a kernel that takes a count and an address.
pub fn launch(
    function: Function,
    (blocks, threads): (u32, u32),
    stream: Stream,
    (count, address): (u32, DeviceAddress),
) -> Result<()> {
    let mut parameters = [
        (&raw const count).cast_mut().cast::<c_void>(),
        (&raw const address).cast_mut().cast(),
    ];
    cu!(cuLaunchKernel(
        function,
        blocks,
        1,
        1,
        threads,
        1,
        1,
        0,
        stream,
        parameters.as_mut_ptr(),
        ptr::null_mut(),
    ))
}

/// Lets `stream` wait for `time` on the host, so that what is enqueued behind is there before it may start.
pub fn hold(stream: Stream, time: Duration) -> Result<()> {
    unsafe extern "C" fn body(nanoseconds: *mut c_void) {
        host_clock::spend(Duration::from_nanos(nanoseconds as u64));
    }
    let nanoseconds = time.as_nanos() as usize;
    cu!(cuLaunchHostFunc(
        stream,
        Some(body),
        nanoseconds as *mut c_void
    ))
}

/// A host function that does nothing.
pub fn host_function(stream: Stream) -> Result<()> {
    unsafe extern "C" fn body(_: *mut c_void) {}
    cu!(cuLaunchHostFunc(stream, Some(body), ptr::null_mut()))
}

/// `cuDeviceGetAttribute` of the first device, by number: numbers newer than the bindings are the driver's to refuse.
pub fn attribute(number: i32) -> Option<i32> {
    type Get = unsafe extern "C" fn(*mut i32, i32, i32) -> cudaError_enum;
    let get: unsafe extern "C" fn(
        *mut i32,
        sys::CUdevice_attribute,
        sys::CUdevice,
    ) -> cudaError_enum = sys::cuDeviceGetAttribute;
    // SAFETY: a C enum is passed as its integer, which the driver checks.
    let get: Get = unsafe { std::mem::transmute(get) };
    let mut value = 0;
    // SAFETY: the value may be written to; device 0 was opened.
    let result = unsafe { get(&mut value, number, 0) };
    (result == cudaError_enum::CUDA_SUCCESS).then_some(value)
}

/// Whether the device has thread block clusters: compute capability 9.0 and later.
pub fn has_clusters() -> bool {
    const CLUSTER_LAUNCH: i32 = 120;
    attribute(CLUSTER_LAUNCH) == Some(1)
}
