//! Libraries: modules that belong to no context (`cuLibrary*`, `cuKernel*`). A context gets a module of its own when it
//! first asks for something in the library.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::sync::Arc;

use super::image::image_bytes;
use super::jit::JitOptions;
use super::module::{module_in, notes_on, text, unknown_kernel};
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{
    CUcontext, CUdevice, CUdeviceptr, CUfunction, CUkernel, CUlibrary, CUmodule, Out,
};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::reasons::because;
use crate::exec::{Executable, Latencies};
use crate::ptx::Module;

/// One library.
pub(in crate::driver) struct Library {
    module: Arc<Module>,
    kernels: BTreeMap<String, CUkernel>,
    /// The modules loaded into contexts.
    loaded: BTreeMap<CUcontext, CUmodule>,
}

/// One kernel of a library.
pub(in crate::driver) struct LibraryKernel {
    library: CUlibrary,
    name: CString,
}

entry_points! {
    fn cuLibraryLoadData(
        library: Out<CUlibrary>,
        code: *const c_void,
        options: *const c_uint,
        option_values: *mut *mut c_void,
        option_count: c_uint,
        library_options: *const c_uint,
        _library_values: *const *const c_void,
        library_option_count: c_uint,
    ) {
        // SAFETY: the caller passes null or an image, and that many options with as many values.
        let (image, options) = unsafe { (image_bytes(code)?, JitOptions::read(option_count, options, option_values)?) };
        // SAFETY: the caller passes that many options of the library.
        unsafe { check_options(library_options, library_option_count) }?;
        load(library.required()?, image, options)
    }

    fn cuLibraryLoadFromFile(
        library: Out<CUlibrary>,
        path: *const c_char,
        options: *const c_uint,
        option_values: *mut *mut c_void,
        option_count: c_uint,
        library_options: *const c_uint,
        _library_values: *const *const c_void,
        library_option_count: c_uint,
    ) {
        // SAFETY: the caller passes null or a string, and that many options with as many values.
        let (path, options) = unsafe { (text(path)?, JitOptions::read(option_count, options, option_values)?) };
        // SAFETY: as above.
        unsafe { check_options(library_options, library_option_count) }?;
        let image = std::fs::read(Path::new(&path)).map_err(|_| CudaError::FileNotFound)?;
        load(library.required()?, &image, options)
    }

    fn cuLibraryUnload(library: CUlibrary) {
        call(Cost::Other, |call| {
            let unloaded = call.libraries.remove(library)?;
            for kernel in unloaded.kernels.into_values() {
                call.kernels.remove(kernel)?;
            }
            for (context, module) in unloaded.loaded {
                // The context may have ended, and its module with it.
                if call.contexts.get(context).is_ok() && call.modules.get(module).is_ok() {
                    call.end_of_module(module)?;
                }
            }
            Ok(())
        })
    }

    fn cuLibraryGetKernel(kernel: Out<CUkernel>, library: CUlibrary, name: *const c_char) {
        // SAFETY: the caller passes null or a string.
        let name = unsafe { text(name) }?;
        call(Cost::Other, |call| {
            let kernels = &call.libraries.get(library)?.kernels;
            let found = kernels.get(&name).copied();
            kernel.set(found.ok_or_else(|| unknown_kernel("the library", &name, kernels.keys()))?)
        })
    }

    fn cuLibraryGetKernelCount(count: Out<c_uint>, library: CUlibrary) {
        call(Cost::Free, |call| count.set(call.libraries.get(library)?.kernels.len() as c_uint))
    }

    fn cuLibraryEnumerateKernels(kernels: *mut CUkernel, count: c_uint, library: CUlibrary) {
        if kernels.is_null() || count == 0 {
            return Err(CudaError::InvalidValue);
        }
        call(Cost::Free, |call| {
            let all = call.libraries.get(library)?.kernels.values();
            for (index, kernel) in all.take(count as usize).enumerate() {
                // SAFETY: the caller has room for that many handles.
                unsafe { kernels.add(index).write(*kernel) };
            }
            Ok(())
        })
    }

    fn cuLibraryGetModule(module: Out<CUmodule>, library: CUlibrary) {
        call(Cost::Other, |call| {
            let context = call.context()?;
            module.set(call.module_of(library, context)?)
        })
    }

    fn cuLibraryGetGlobal(address: Out<CUdeviceptr>, bytes: Out<usize>, library: CUlibrary, name: *const c_char) {
        // SAFETY: the caller passes null or a string.
        let name = unsafe { text(name) }?;
        call(Cost::Other, |call| {
            let context = call.context()?;
            let module = call.module_of(library, context)?;
            let (base, len) = call.modules.get(module)?.required_global(&name)?;
            address.set_if_wanted(base);
            bytes.set_if_wanted(len);
            Ok(())
        })
    }

    /// A managed variable: `CUDA_ERROR_NOT_FOUND` for another one.
    fn cuLibraryGetManaged(address: Out<CUdeviceptr>, bytes: Out<usize>, library: CUlibrary, name: *const c_char) {
        // SAFETY: the caller passes null or a string.
        let name = unsafe { text(name) }?;
        call(Cost::Other, |call| {
            let context = call.context()?;
            let module = call.module_of(library, context)?;
            let (base, len) = call.modules.get(module)?.required_global(&name)?;
            if !call.managed.starts_at(base) {
                return Err(because(
                    CudaError::NotFound,
                    format!("the variable `{name}` is not managed"),
                    "declare it __managed__, or ask for it with cuLibraryGetGlobal",
                ));
            }
            address.set_if_wanted(base);
            bytes.set_if_wanted(len);
            Ok(())
        })
    }

    fn cuKernelGetFunction(function: Out<CUfunction>, kernel: CUkernel) {
        call(Cost::Other, |call| {
            let context = call.context()?;
            let loaded = call.function_of(kernel, context)?;
            call.load_code(loaded)?;
            function.set(loaded)
        })
    }

    fn cuKernelGetLibrary(library: Out<CUlibrary>, kernel: CUkernel) {
        call(Cost::Free, |call| library.set(call.kernels.get(kernel)?.library))
    }

    /// The name lives as long as the library.
    fn cuKernelGetName(name: Out<*const c_char>, kernel: CUkernel) {
        call(Cost::Free, |call| name.set(call.kernels.get(kernel)?.name.as_ptr()))
    }

    fn cuKernelGetParamInfo(kernel: CUkernel, index: usize, offset: Out<usize>, bytes: Out<usize>) {
        call(Cost::Free, |call| {
            let LibraryKernel { library, name } = call.kernels.get(kernel)?;
            let kernels = &call.libraries.get(*library)?.module.kernels;
            let found = kernels.iter().find(|kernel| kernel.name.as_bytes() == name.as_bytes());
            let parameter = found.and_then(|kernel| kernel.parameters.get(index)).ok_or(CudaError::InvalidValue)?;
            bytes.set_if_wanted(parameter.bytes as usize);
            offset.set(parameter.offset as usize)
        })
    }

    fn cuKernelGetAttribute(value: Out<c_int>, attribute: c_uint, kernel: CUkernel, device: CUdevice) {
        call(Cost::Free, |call| {
            let context = call.context_on(device)?;
            let function = call.function_of(kernel, context)?;
            value.set(call.functions.get(function)?.attribute(attribute, call)?.cast_signed())
        })
    }

    fn cuKernelSetAttribute(attribute: c_uint, value: c_int, kernel: CUkernel, device: CUdevice) {
        call(Cost::Other, |call| {
            let context = call.context_on(device)?;
            let function = call.function_of(kernel, context)?;
            let device = call.profile_of(context)?.device.clone();
            call.functions.get_mut(function)?.set_attribute(attribute, value, &device)
        })
    }

    /// A hint that changes nothing here.
    fn cuKernelSetCacheConfig(kernel: CUkernel, config: c_uint, device: CUdevice) {
        call(Cost::Free, |call| {
            call.device(device)?;
            call.kernels.get(kernel)?;
            if config <= 3 { Ok(()) } else { Err(CudaError::InvalidValue) }
        })
    }
}

/// `CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE` and `CU_LIBRARY_BINARY_IS_PRESERVED`: the first one matters to
/// machine code alone, the second one is a permission.
///
/// # Safety
/// `options` is null or points to `count` options.
unsafe fn check_options(options: *const c_uint, count: c_uint) -> Result<(), CudaError> {
    if count > 0 && options.is_null() {
        return Err(CudaError::InvalidValue);
    }
    // SAFETY: there are that many options.
    let known = (0..count as usize).all(|index| unsafe { options.add(index).read() } <= 1);
    if known {
        Ok(())
    } else {
        Err(CudaError::InvalidValue)
    }
}

fn load(out: Out<CUlibrary>, image: &[u8], mut options: JitOptions) -> Result<(), CudaError> {
    call(Cost::ModuleLoad, |call| {
        let profile = &call.device(0)?.profile;
        let (device, latencies) = (profile.device.clone(), Latencies::of(profile));
        let checked = module_in(image, &device, &options).and_then(|module| {
            // With any addresses: those of a context are not known yet.
            let executable = Executable::new(&module, latencies, &|_| Some(0))?;
            Ok((module, notes_on(&executable)))
        });
        let module = call.loaded(checked, &mut options)?;
        let names: Vec<String> = module
            .kernels
            .iter()
            .map(|kernel| kernel.name.clone())
            .collect();
        let library = call.libraries.insert(Library {
            module: Arc::new(module),
            kernels: BTreeMap::new(),
            loaded: BTreeMap::new(),
        });
        for name in names {
            // A name of PTX has no zero inside.
            let text = CString::new(name.as_str()).unwrap_or_default();
            let kernel = call.kernels.insert(LibraryKernel {
                library,
                name: text,
            });
            call.libraries
                .get_mut(library)?
                .kernels
                .insert(name, kernel);
        }
        out.set(library)
    })
}

impl Call {
    /// The library's module in a context; loads it if it is not there.
    fn module_of(&mut self, library: CUlibrary, context: CUcontext) -> Result<CUmodule, CudaError> {
        let Library { module, loaded, .. } = self.libraries.get(library)?;
        if let Some(known) = loaded
            .get(&context)
            .filter(|known| self.modules.get(**known).is_ok())
        {
            return Ok(*known);
        }
        let module = Arc::clone(module);
        let loaded = self.load_parsed(context, &module)?;
        self.libraries
            .get_mut(library)?
            .loaded
            .insert(context, loaded);
        Ok(loaded)
    }

    /// The kernel as a function of a context.
    fn function_of(
        &mut self,
        kernel: CUkernel,
        context: CUcontext,
    ) -> Result<CUfunction, CudaError> {
        let LibraryKernel { library, name } = self.kernels.get(kernel)?;
        let (library, name) = (*library, name.clone());
        let module = self.module_of(library, context)?;
        let function = self
            .modules
            .get(module)?
            .function(&CStr::to_string_lossy(&name));
        function.ok_or(CudaError::NotFound)
    }

    /// The function that a launch means: a `CUkernel` may stand for its function in the current context.
    pub(in crate::driver) fn launched(
        &mut self,
        handle: CUfunction,
    ) -> Result<CUfunction, CudaError> {
        let kernel = CUkernel(handle.0);
        if self.kernels.get(kernel).is_err() {
            return Ok(handle);
        }
        let context = self.context()?;
        self.function_of(kernel, context)
    }

    /// The current context if it is on `device`, or the device's primary one.
    fn context_on(&self, device: CUdevice) -> Result<CUcontext, CudaError> {
        let primary = self.device(device)?.primary.context;
        let current = self.context().ok();
        let current = current.filter(|context| {
            self.contexts
                .get(*context)
                .is_ok_and(|context| usize::try_from(device) == Ok(context.device))
        });
        current.or(primary).ok_or(CudaError::InvalidContext)
    }
}
