//! Functions: the kernels of a module, and their attributes.

use std::ffi::{CString, c_char, c_int, c_uint};
use std::sync::Arc;

use super::lazy;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, CUfunction, CUmodule, Out};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::launch::prepared::Prepared;
use crate::driver::simulation::simulator::Simulator;
use crate::exec::{Executable, ExecutableKernel};
use crate::timeline::profile::DeviceProfile;

/// `CUfunction_attribute`.
const MAX_THREADS_PER_BLOCK: c_uint = 0;
const SHARED_SIZE_BYTES: c_uint = 1;
const CONST_SIZE_BYTES: c_uint = 2;
const LOCAL_SIZE_BYTES: c_uint = 3;
const NUM_REGS: c_uint = 4;
/// The virtual architecture that the PTX is for, in spite of its name.
const PTX_VERSION: c_uint = 5;
const BINARY_VERSION: c_uint = 6;
const CACHE_MODE_CA: c_uint = 7;
const MAX_DYNAMIC_SHARED_SIZE_BYTES: c_uint = 8;
const PREFERRED_SHARED_MEMORY_CARVEOUT: c_uint = 9;
const CLUSTER_SIZE_MUST_BE_SET: c_uint = 10;
const REQUIRED_CLUSTER_WIDTH: c_uint = 11;
const REQUIRED_CLUSTER_DEPTH: c_uint = 13;
const NON_PORTABLE_CLUSTER_SIZE_ALLOWED: c_uint = 14;
const CLUSTER_SCHEDULING_POLICY_PREFERENCE: c_uint = 15;

/// One kernel of a loaded module.
pub(in crate::driver) struct LoadedFunction {
    pub(in crate::driver) context: CUcontext,
    module: CUmodule,
    executable: Arc<Executable>,
    index: usize,
    name: CString,
    /// Its code is on the device.
    loaded: bool,
    /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`, if it was set.
    max_dynamic_shared: Option<u32>,
    carveout: c_int,
    /// `CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH`, `_HEIGHT` and `_DEPTH` as they were set.
    required_cluster: [c_uint; 3],
    non_portable_cluster: bool,
    cluster_policy: c_uint,
    /// For `cuLaunchGrid`.
    prepared: Prepared,
}

impl LoadedFunction {
    pub(in crate::driver) fn new(
        context: CUcontext,
        module: CUmodule,
        executable: Arc<Executable>,
        index: usize,
    ) -> Self {
        // A name of PTX has no zero inside.
        let name = CString::new(executable.kernels()[index].name()).unwrap_or_default();
        Self {
            context,
            module,
            executable,
            index,
            name,
            loaded: lazy::is_eager(),
            max_dynamic_shared: None,
            carveout: -1,
            required_cluster: [0; 3],
            non_portable_cluster: false,
            cluster_policy: 0,
            prepared: Prepared::default(),
        }
    }

    pub(in crate::driver) fn prepared_mut(&mut self) -> &mut Prepared {
        &mut self.prepared
    }

    /// The cluster that every launch has: by `.reqnctapercluster`, or by attributes that were set.
    pub(in crate::driver) fn required_cluster(&self) -> Option<[c_uint; 3]> {
        let set = Some(self.required_cluster).filter(|extents| !extents.contains(&0));
        self.kernel().cluster().required.or(set)
    }

    /// `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`.
    pub(in crate::driver) fn non_portable_cluster(&self) -> bool {
        self.non_portable_cluster
    }

    pub(super) fn is_loaded(&self) -> bool {
        self.loaded
    }

    pub(super) fn set_loaded(&mut self) {
        self.loaded = true;
    }

    pub(in crate::driver) fn kernel(&self) -> &ExecutableKernel {
        &self.executable.kernels()[self.index]
    }

    /// What keeps the kernel alive, and its place there.
    pub(in crate::driver) fn code(&self) -> (Arc<Executable>, usize) {
        (Arc::clone(&self.executable), self.index)
    }

    /// The most dynamic shared memory that a launch may ask for.
    pub(in crate::driver) fn max_dynamic_shared(&self, device: &DeviceProfile) -> u32 {
        let default = device
            .max_shared_memory_per_block
            .saturating_sub(self.kernel().static_shared_bytes());
        self.max_dynamic_shared.unwrap_or(default)
    }

    /// `cuFuncGetAttribute`.
    pub(in crate::driver) fn attribute(
        &self,
        attribute: c_uint,
        call: &Call,
    ) -> Result<u32, CudaError> {
        let device = &call.profile_of(self.context)?.device;
        let kernel = self.kernel();
        if kernel.refusal().is_some() && is_of_code(attribute) {
            return Err(CudaError::NotSupported);
        }
        Ok(match attribute {
            MAX_THREADS_PER_BLOCK => max_threads(kernel, device),
            SHARED_SIZE_BYTES => kernel.static_shared_bytes(),
            CONST_SIZE_BYTES => kernel.constant_bytes(),
            LOCAL_SIZE_BYTES => kernel.local_bytes(),
            NUM_REGS => kernel.registers_per_thread(),
            PTX_VERSION => call.modules.get(self.module)?.architecture,
            BINARY_VERSION => {
                device.compute_capability_major * 10 + device.compute_capability_minor
            }
            CACHE_MODE_CA => 0,
            MAX_DYNAMIC_SHARED_SIZE_BYTES => self.max_dynamic_shared(device),
            PREFERRED_SHARED_MEMORY_CARVEOUT => self.carveout.cast_unsigned(),
            CLUSTER_SIZE_MUST_BE_SET => kernel.cluster().explicit.into(),
            REQUIRED_CLUSTER_WIDTH..=REQUIRED_CLUSTER_DEPTH => {
                let extents = kernel.cluster().required.unwrap_or(self.required_cluster);
                extents[(attribute - REQUIRED_CLUSTER_WIDTH) as usize]
            }
            NON_PORTABLE_CLUSTER_SIZE_ALLOWED => self.non_portable_cluster.into(),
            CLUSTER_SCHEDULING_POLICY_PREFERENCE => self.cluster_policy,
            _ => return Err(CudaError::InvalidValue),
        })
    }

    /// `cuFuncSetAttribute`.
    pub(in crate::driver) fn set_attribute(
        &mut self,
        attribute: c_uint,
        value: c_int,
        device: &DeviceProfile,
    ) -> Result<(), CudaError> {
        match attribute {
            MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                let limit = device
                    .max_shared_memory_per_block_optin
                    .saturating_sub(self.kernel().static_shared_bytes());
                let value = u32::try_from(value).ok().filter(|value| *value <= limit);
                self.max_dynamic_shared = Some(value.ok_or(CudaError::InvalidValue)?);
            }
            PREFERRED_SHARED_MEMORY_CARVEOUT if (-1..=100).contains(&value) => {
                self.carveout = value
            }
            REQUIRED_CLUSTER_WIDTH..=REQUIRED_CLUSTER_DEPTH => {
                if self.kernel().cluster().required.is_some() {
                    return Err(CudaError::InvalidValue);
                }
                let extent = u32::try_from(value).map_err(|_| CudaError::InvalidValue)?;
                self.required_cluster[(attribute - REQUIRED_CLUSTER_WIDTH) as usize] = extent;
            }
            NON_PORTABLE_CLUSTER_SIZE_ALLOWED if matches!(value, 0 | 1) => {
                self.non_portable_cluster = value == 1;
            }
            CLUSTER_SCHEDULING_POLICY_PREFERENCE if (0..=2).contains(&value) => {
                self.cluster_policy = value.cast_unsigned();
            }
            _ => return Err(CudaError::InvalidValue),
        }
        Ok(())
    }
}

/// Whether the attribute follows from code, which is not known of a kernel that is refused.
fn is_of_code(attribute: c_uint) -> bool {
    matches!(
        attribute,
        MAX_THREADS_PER_BLOCK
            | SHARED_SIZE_BYTES
            | LOCAL_SIZE_BYTES
            | NUM_REGS
            | MAX_DYNAMIC_SHARED_SIZE_BYTES
    )
}

impl Simulator {
    /// Refuses to execute a kernel that has something that is not implemented, and says what.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED`
    pub(in crate::driver) fn check_executable(
        &mut self,
        function: CUfunction,
    ) -> Result<(), CudaError> {
        let Some(explanation) = refusal_of(self.functions.get(function)?.kernel()) else {
            return Ok(());
        };
        crate::say!("software GPU: {explanation}");
        self.last_refusal = Some(explanation);
        Err(CudaError::NotSupported)
    }
}

/// Why a kernel is refused, if it is.
pub(in crate::driver) fn refusal_of(kernel: &ExecutableKernel) -> Option<String> {
    let refusal = kernel.refusal()?;
    Some(format!(
        "kernel `{}` cannot be launched: {refusal}",
        kernel.name()
    ))
}

/// The largest block: by the kernel's own bounds, the device's, and the registers of a multiprocessor.
pub(in crate::driver) fn max_threads(kernel: &ExecutableKernel, device: &DeviceProfile) -> u32 {
    let by_registers = device.max_registers_per_block / kernel.registers_per_thread().max(1);
    let by_registers = by_registers / device.warp_size * device.warp_size;
    kernel
        .max_threads_per_block()
        .min(device.max_threads_per_block)
        .min(by_registers)
}

entry_points! {
    fn cuFuncGetAttribute(value: Out<c_int>, attribute: c_uint, function: CUfunction) {
        call(Cost::Free, |call| {
            call.context()?;
            let attribute = call.functions.get(function)?.attribute(attribute, call)?;
            value.set(attribute.cast_signed())
        })
    }

    fn cuFuncSetAttribute(function: CUfunction, attribute: c_uint, value: c_int) {
        call(Cost::Other, |call| {
            call.context()?;
            let context = call.functions.get(function)?.context;
            let device = call.profile_of(context)?.device.clone();
            call.functions.get_mut(function)?.set_attribute(attribute, value, &device)
        })
    }

    /// A hint that changes nothing here.
    fn cuFuncSetCacheConfig(function: CUfunction, config: c_uint) {
        accept(function, config, 3)
    }

    /// A hint that changes nothing on today's devices.
    fn cuFuncSetSharedMemConfig(function: CUfunction, config: c_uint) {
        accept(function, config, 2)
    }

    /// The name lives as long as the module.
    fn cuFuncGetName(name: Out<*const c_char>, function: CUfunction) {
        call(Cost::Free, |call| name.set(call.functions.get(function)?.name.as_ptr()))
    }

    fn cuFuncLoad(function: CUfunction) {
        call(Cost::Free, |call| call.load_code(function))
    }

    /// `CU_FUNCTION_LOADING_STATE_UNLOADED` is 0, `CU_FUNCTION_LOADING_STATE_LOADED` 1.
    fn cuFuncIsLoaded(state: Out<c_uint>, function: CUfunction) {
        call(Cost::Free, |call| state.set(call.functions.get(function)?.loaded.into()))
    }

    fn cuFuncGetModule(module: Out<CUmodule>, function: CUfunction) {
        call(Cost::Free, |call| {
            call.context()?;
            module.set(call.functions.get(function)?.module)
        })
    }

    fn cuFuncGetParamInfo(function: CUfunction, index: usize, offset: Out<usize>, bytes: Out<usize>) {
        call(Cost::Free, |call| {
            call.context()?;
            let kernel = call.functions.get(function)?.kernel();
            let parameter = kernel.parameters().get(index).ok_or(CudaError::InvalidValue)?;
            bytes.set_if_wanted(parameter.bytes as usize);
            offset.set(parameter.offset as usize)
        })
    }
}

fn accept(function: CUfunction, config: c_uint, limit: c_uint) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        call.context()?;
        call.functions.get(function)?;
        if config <= limit {
            Ok(())
        } else {
            Err(CudaError::InvalidValue)
        }
    })
}
