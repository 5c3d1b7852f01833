//! From node parameters to what a node does, and back.

use super::node::{Action, KernelNode};
use super::params::{HostParams, KernelParams, KernelParamsV1, SetParams};
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, CUevent, CUfunction};
use crate::driver::host::call::Call;
use crate::driver::launch::kernel::{Launch, LaunchArguments, LaunchExtents};
use crate::driver::memory::boxes::Pitches;
use crate::driver::memory::copy_box::Request;
use crate::driver::memory::copy_params::{CUmemcpy3D, CUmemcpy3DSide};
use crate::driver::memory::memset::{self, Elements};
use crate::driver::simulation::operation::{
    Callback, CallbackFunction, Copy, MemsetPattern, Place, Set, Side,
};

/// `CUmemorytype`.
const HOST: u32 = 1;
const DEVICE: u32 = 2;

impl KernelParamsV1 {
    /// The second version, which the first one is the beginning of.
    pub(super) fn widened(self) -> KernelParams {
        KernelParams {
            common: self,
            kernel: 0,
            context: CUcontext::NULL,
        }
    }
}

/// A kernel node.
///
/// # Errors
/// As `cuLaunchKernel`.
///
/// # Safety
/// The arguments are null or as the kernel declares them.
pub(super) unsafe fn kernel(call: &mut Call, params: &KernelParams) -> Result<Action, CudaError> {
    let KernelParamsV1 {
        function,
        grid,
        block,
        dynamic_shared_bytes,
        parameters,
        extra,
    } = params.common;
    // A node may name a kernel of a library instead.
    let function = match function.0 {
        0 => call.launched(CUfunction(params.kernel))?,
        _ => function,
    };
    if function.0 == 0 {
        return Err(CudaError::InvalidValue);
    }
    let context = call.functions.get(function)?.context;
    call.usable(context)?;
    let shape = LaunchExtents::new(grid, block, dynamic_shared_bytes);
    let arguments = LaunchArguments {
        parameters: parameters.cast_const().cast(),
        extra: extra.cast_const().cast(),
    };
    // SAFETY: the caller's promise.
    let launch = unsafe { Launch::prepare(call, function, shape, arguments) }?;
    Ok(Action::Kernel(Box::new(KernelNode::new(context, launch))))
}

/// A kernel node's parameters. The arguments stay the node's.
pub(super) fn kernel_params(kernel: &mut KernelNode) -> KernelParams {
    let common = KernelParamsV1 {
        function: kernel.launch.function,
        grid: kernel.launch.shape.grid,
        block: kernel.launch.shape.block,
        dynamic_shared_bytes: kernel.launch.shape.dynamic_shared_bytes,
        parameters: kernel.argument_pointers(),
        extra: std::ptr::null_mut(),
    };
    KernelParams {
        common,
        kernel: 0,
        context: kernel.context,
    }
}

/// A context that a node names: null is the current one.
pub(super) fn context(call: &Call, context: CUcontext) -> Result<CUcontext, CudaError> {
    if context.is_null() {
        call.context()
    } else {
        call.usable(context).map_err(|error| match error {
            CudaError::ContextIsDestroyed => CudaError::InvalidContext,
            error => error,
        })
    }
}

/// A memcpy node.
///
/// # Errors
/// As `cuMemcpy3D`; `CUDA_ERROR_INVALID_VALUE` when nothing is to be copied.
pub(super) fn copy(
    call: &Call,
    params: &CUmemcpy3D,
    context: CUcontext,
) -> Result<Action, CudaError> {
    let context = self::context(call, context)?;
    let request = Request::from(params);
    let sides = call.sides(&request)?;
    let (to, from) = sides.ok_or(CudaError::InvalidValue)?;
    let mut copy = call.prepared(to, from);
    copy.node = Some(call.node_origin());
    Ok(Action::Copy(context, Box::new(copy)))
}

/// A memcpy node's parameters.
pub(super) fn copy_params(call: &Call, copy: &Copy) -> CUmemcpy3D {
    let side = |side: Side| {
        let (memory_type, host, device) = match side.place {
            Place::Mapped(address) if call.is_on_device(side.place) => (DEVICE, 0, address),
            Place::Mapped(address) => (HOST, address as usize, 0),
            Place::Pageable(address) => (HOST, address, 0),
        };
        let Pitches { row, slice } = side.rows.pitches;
        CUmemcpy3DSide {
            x_in_bytes: 0,
            y: 0,
            z: 0,
            level_of_detail: 0,
            memory_type,
            host: host as *const _,
            device,
            array: 0,
            context: 0,
            pitch: row,
            height: slice / row.max(1),
        }
    };
    let extent = copy.from.rows.extent;
    CUmemcpy3D {
        from: side(copy.from),
        to: side(copy.to),
        width_in_bytes: extent.width,
        height: extent.height,
        depth: extent.depth,
    }
}

/// A memset node.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for elements of a size other than 1, 2 or 4 bytes, when nothing is to be set, and as the
/// memsets of streams.
pub(super) fn set(
    call: &Call,
    params: &SetParams,
    context: CUcontext,
) -> Result<Action, CudaError> {
    let context = self::context(call, context)?;
    let pattern = match params.element_bytes {
        1 => MemsetPattern::from(params.value as u8),
        2 => MemsetPattern::from(params.value as u16),
        4 => MemsetPattern::from(params.value),
        _ => return Err(CudaError::InvalidValue),
    };
    let elements = Elements {
        width: params.width,
        height: params.height,
        pitch: params.pitch,
    };
    let set =
        memset::prepare(call, params.to, pattern, elements)?.ok_or(CudaError::InvalidValue)?;
    Ok(Action::Set(context, set))
}

/// A memset node's parameters.
pub(super) fn set_params(set: &Set) -> SetParams {
    let to = match set.to {
        Place::Mapped(address) => address,
        Place::Pageable(address) => address as u64,
    };
    let bytes = set.pattern.bytes;
    let value = match set.pattern.len {
        1 => u32::from(bytes[0]),
        2 => u32::from(u16::from_ne_bytes([bytes[0], bytes[1]])),
        _ => u32::from_ne_bytes(bytes),
    };
    SetParams {
        to,
        pitch: set.rows.pitches.row,
        value,
        element_bytes: set.pattern.len as u32,
        width: set.rows.extent.width / set.pattern.len.max(1),
        height: set.rows.extent.height,
    }
}

/// A host node.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` without a function.
pub(super) fn host(params: &HostParams) -> Result<Action, CudaError> {
    let function = params.function.ok_or(CudaError::InvalidValue)?;
    Ok(Action::Host(Callback {
        function: CallbackFunction::Host(function),
        data: params.data,
    }))
}

/// A host node's parameters.
pub(super) fn host_params(callback: &Callback) -> HostParams {
    let function = match callback.function {
        CallbackFunction::Host(function) => Some(function),
        CallbackFunction::Stream(..) => None,
    };
    HostParams {
        function,
        data: callback.data,
    }
}

/// The event of a node.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` when there is no such event.
pub(super) fn event(call: &Call, event: CUevent) -> Result<CUevent, CudaError> {
    call.events
        .get(event)
        .map_err(|_| CudaError::InvalidValue)?;
    Ok(event)
}
