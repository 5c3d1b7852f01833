//! Launches in the way of CUDA before 4.0, which keeps the block's shape and the arguments in the function: `cuFuncSetBlockShape`,
//! `cuParamSet*`, `cuLaunchGrid`. NVIDIA's driver still has it, and prepared calls of PyCUDA use it.

use std::ffi::{c_int, c_uint, c_void};

use super::attributes::LaunchAttributes;
use super::kernel::{LaunchArguments, LaunchExtents, launch};
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUfunction, CUstream};
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;
use crate::driver::reasons::because;
use crate::driver::streams::stream::NullStream;

/// The most bytes of arguments: what a kernel of compute capability 7.0 or more can take.
const MAX_PARAMETER_BYTES: usize = 32_764;

/// What the next `cuLaunchGrid` of a function uses.
#[derive(Clone, Debug, Default)]
pub(in crate::driver) struct Prepared {
    /// `None` before `cuFuncSetBlockShape`.
    block: Option<[c_uint; 3]>,
    shared_bytes: c_uint,
    parameters: Vec<u8>,
}

impl Prepared {
    /// Puts the bytes of an argument at `offset`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` outside of what a kernel can take.
    fn put(&mut self, offset: c_int, bytes: &[u8]) -> Result<(), CudaError> {
        let start = usize::try_from(offset).map_err(|_| CudaError::InvalidValue)?;
        let end = start.saturating_add(bytes.len());
        if end > MAX_PARAMETER_BYTES {
            return Err(CudaError::InvalidValue);
        }
        if self.parameters.len() < end {
            self.parameters.resize(end, 0);
        }
        self.parameters[start..end].copy_from_slice(bytes);
        Ok(())
    }
}

entry_points! {
    fn cuFuncSetBlockShape(function: CUfunction, x: c_int, y: c_int, z: c_int) {
        let extent = |extent: c_int| c_uint::try_from(extent).ok().filter(|extent| *extent > 0);
        let [Some(x), Some(y), Some(z)] = [x, y, z].map(extent) else {
            return Err(CudaError::InvalidValue);
        };
        change(function, |prepared| {
            prepared.block = Some([x, y, z]);
            Ok(())
        })
    }

    fn cuFuncSetSharedSize(function: CUfunction, bytes: c_uint) {
        change(function, |prepared| {
            prepared.shared_bytes = bytes;
            Ok(())
        })
    }

    fn cuParamSetSize(function: CUfunction, bytes: c_uint) {
        if bytes as usize > MAX_PARAMETER_BYTES {
            return Err(CudaError::InvalidValue);
        }
        change(function, |prepared| {
            prepared.parameters.resize(bytes as usize, 0);
            Ok(())
        })
    }

    fn cuParamSeti(function: CUfunction, offset: c_int, value: c_uint) {
        change(function, |prepared| prepared.put(offset, &value.to_ne_bytes()))
    }

    fn cuParamSetf(function: CUfunction, offset: c_int, value: f32) {
        change(function, |prepared| prepared.put(offset, &value.to_ne_bytes()))
    }

    fn cuParamSetv(function: CUfunction, offset: c_int, data: *const c_void, bytes: c_uint) {
        if data.is_null() || bytes as usize > MAX_PARAMETER_BYTES {
            return Err(CudaError::InvalidValue);
        }
        // SAFETY: the caller passes that many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes as usize) };
        change(function, |prepared| prepared.put(offset, bytes))
    }

    fn cuLaunch(function: CUfunction) {
        launch_grid(function, [1, 1], CUstream::NULL)
    }

    fn cuLaunchGrid(function: CUfunction, width: c_int, height: c_int) {
        launch_grid(function, [width, height], CUstream::NULL)
    }

    fn cuLaunchGridAsync(function: CUfunction, width: c_int, height: c_int, stream: CUstream) {
        launch_grid(function, [width, height], stream)
    }
}

fn change(
    function: CUfunction,
    change: impl FnOnce(&mut Prepared) -> Result<(), CudaError>,
) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        call.context()?;
        change(call.functions.get_mut(function)?.prepared_mut())
    })
}

fn launch_grid(
    function: CUfunction,
    extents: [c_int; 2],
    stream: CUstream,
) -> Result<(), CudaError> {
    let [width, height] =
        extents.map(|extent| c_uint::try_from(extent).map_err(|_| CudaError::InvalidValue));
    let (width, height) = (width?, height?);
    let mut prepared = Prepared::default();
    change(function, |kept| {
        prepared = kept.clone();
        Ok(())
    })?;
    let Some(block) = prepared.block else {
        return Err(because(
            CudaError::InvalidValue,
            "the function has no block shape",
            "call cuFuncSetBlockShape before the launch",
        ));
    };
    let bytes = prepared.parameters.len();
    let none = std::ptr::null();
    // `CU_LAUNCH_PARAM_BUFFER_POINTER`, `_BUFFER_SIZE` and `_END`.
    let extra: [*const c_void; 5] = [
        std::ptr::without_provenance(1),
        prepared.parameters.as_ptr().cast(),
        std::ptr::without_provenance(2),
        std::ptr::from_ref(&bytes).cast(),
        none,
    ];
    let extra = if bytes == 0 {
        std::ptr::null()
    } else {
        extra.as_ptr()
    };
    let arguments = LaunchArguments {
        parameters: std::ptr::null(),
        extra,
    };
    let shape = LaunchExtents::new([width, height, 1], block, prepared.shared_bytes);
    let attributes = LaunchAttributes::default();
    launch(
        NullStream::Legacy,
        function,
        shape,
        attributes,
        stream,
        arguments,
    )
}
