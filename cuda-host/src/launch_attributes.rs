//! Launches with attributes (`cuLaunchKernelEx`), which cust's bindings of CUDA 11.4 do not declare.

use crate::result::ToResult;
use crate::symbol;
use cust::error::CudaResult;
use cust::function::{BlockSize, Function, GridSize};
use cust::stream::Stream;
use cust::sys::{CUfunction, CUresult, CUstream};
use std::ffi::{c_int, c_uint, c_void};

/// An attribute of a launch, `CUlaunchAttribute` of cuda.h.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Attribute {
    id: c_uint,
    padding: c_uint,
    value: [c_uint; 16],
}

impl Attribute {
    /// Blocks of a cluster in x, y and z (`CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`).
    pub const fn cluster([x, y, z]: [u32; 3]) -> Self {
        Self::new(4, [x, y, z])
    }

    /// Whether the kernel may begin before the one before it has ended
    /// (`CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`); it then waits by `griddepcontrol.wait`.
    pub const fn programmatic_stream_serialization(allowed: bool) -> Self {
        Self::new(6, [allowed as u32, 0, 0])
    }

    const fn new(id: c_uint, [a, b, c]: [c_uint; 3]) -> Self {
        let mut value = [0; 16];
        value[0] = a;
        value[1] = b;
        value[2] = c;
        Self {
            id,
            padding: 0,
            value,
        }
    }
}

#[repr(C)]
struct Config {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: CUstream,
    attributes: *const Attribute,
    count: c_uint,
}

type LaunchKernelEx = unsafe extern "C" fn(
    config: *const Config,
    function: CUfunction,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult;

type MaxActiveClusters = unsafe extern "C" fn(
    count: *mut c_int,
    function: CUfunction,
    config: *const Config,
) -> CUresult;

impl Config {
    fn new(
        grid: GridSize,
        block: BlockSize,
        shared_bytes: u32,
        stream: CUstream,
        attributes: &[Attribute],
    ) -> Self {
        Self {
            grid: [grid.x, grid.y, grid.z],
            block: [block.x, block.y, block.z],
            shared_bytes,
            stream,
            attributes: attributes.as_ptr(),
            count: attributes.len() as c_uint,
        }
    }
}

/// How many clusters of such a launch the device has room for at the same time (`cuOccupancyMaxActiveClusters`). The blocks of a
/// cluster lie in one graphics processing cluster (GPC), so fewer blocks may fit than without clusters.
///
/// # Errors
/// The device has no clusters, or none of this shape.
pub fn max_active_clusters(
    function: &Function,
    grid: impl Into<GridSize>,
    block: impl Into<BlockSize>,
    shared_bytes: u32,
    attributes: &[Attribute],
) -> CudaResult<u32> {
    let stream = std::ptr::null_mut();
    let config = Config::new(grid.into(), block.into(), shared_bytes, stream, attributes);
    // SAFETY: the type is the one that cuda.h declares.
    let ask: MaxActiveClusters = unsafe { symbol::function("cuOccupancyMaxActiveClusters") };
    let mut count = 0;
    // SAFETY: the configuration and what it points at outlive the call.
    unsafe { ask(&mut count, function.to_raw(), &config) }.to_result()?;
    Ok(count.cast_unsigned())
}

/// Launches a kernel with attributes (`cuLaunchKernelEx`). `arguments` are pointers to the kernel's parameters, in order.
///
/// # Safety
/// As for cust's `launch!`: the arguments are those that the kernel declares, and what they point at lives until the
/// kernel has ended.
pub unsafe fn launch(
    function: &Function,
    grid: impl Into<GridSize>,
    block: impl Into<BlockSize>,
    shared_bytes: u32,
    stream: &Stream,
    attributes: &[Attribute],
    arguments: &[*mut c_void],
) -> CudaResult<()> {
    let stream = stream.as_inner();
    let config = Config::new(grid.into(), block.into(), shared_bytes, stream, attributes);
    // SAFETY: the type is the one that cuda.h declares.
    let launch: LaunchKernelEx = unsafe { symbol::function("cuLaunchKernelEx") };
    let arguments = arguments.as_ptr().cast_mut();
    // SAFETY: the configuration and what it points at outlive the call; the rest is the caller's promise.
    unsafe { launch(&config, function.to_raw(), arguments, std::ptr::null_mut()) }.to_result()
}
