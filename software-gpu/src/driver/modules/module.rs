//! Modules: PTX text made executable, its global variables and its kernels.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_uint, c_void};
use std::path::Path;
use std::sync::Arc;

use super::function::{LoadedFunction, refusal_of};
use super::image::{image_bytes, ptx_of};
use super::jit::JitOptions;
use super::lazy;
use super::link;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, CUdeviceptr, CUfunction, CUmodule, Out};
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;
use crate::driver::reasons::because_unknown;
use crate::driver::simulation::simulator::Simulator;
use crate::exec::{self, Executable, Latencies};
use crate::memory::AllocationKind;
use crate::ptx::ir::{Space, Variable};
use crate::ptx::{Module, PtxError, PtxErrorKind};
use crate::timeline::profile::DeviceProfile;

/// One loaded module.
pub(in crate::driver) struct LoadedModule {
    pub(in crate::driver) context: CUcontext,
    /// The virtual architecture: 70 for a module with `.target sm_70`.
    pub(in crate::driver) architecture: u32,
    executable: Arc<Executable>,
    globals: Globals,
    functions: BTreeMap<String, CUfunction>,
}

impl LoadedModule {
    /// Whether the function is one of its kernels.
    pub(super) fn has(&self, function: CUfunction) -> bool {
        self.functions.values().any(|known| *known == function)
    }
}

/// Address and size of global variables by name.
type Globals = BTreeMap<String, (CUdeviceptr, usize)>;

entry_points! {
    fn cuModuleLoad(module: Out<CUmodule>, path: *const c_char) {
        let module = module.required()?;
        if path.is_null() {
            return Err(CudaError::InvalidValue);
        }
        // SAFETY: not null, so the caller passes a string.
        let path = unsafe { CStr::from_ptr(path) }.to_str().map_err(|_| CudaError::FileNotFound)?;
        let image = std::fs::read(Path::new(path)).map_err(|_| CudaError::FileNotFound)?;
        load(module, &image, &mut JitOptions::none())
    }

    fn cuModuleLoadData | cuModuleLoadFatBinary (module: Out<CUmodule>, image: *const c_void) {
        // SAFETY: the caller passes null or a module image.
        let image = unsafe { image_bytes(image) }?;
        load(module.required()?, image, &mut JitOptions::none())
    }

    fn cuModuleLoadDataEx(
        module: Out<CUmodule>,
        image: *const c_void,
        count: c_uint,
        options: *const c_uint,
        values: *mut *mut c_void,
    ) {
        // SAFETY: as above; and `count` options with as many values.
        let (image, mut options) = unsafe { (image_bytes(image)?, JitOptions::read(count, options, values)?) };
        load(module.required()?, image, &mut options)
    }

    fn cuModuleUnload(module: CUmodule) {
        call(Cost::Other, |call| {
            let context = call.context()?;
            if call.modules.get(module)?.context != context {
                return Err(CudaError::InvalidHandle);
            }
            call.end_of_module(module)
        })
    }

    fn cuModuleGetFunction(function: Out<CUfunction>, module: CUmodule, name: *const c_char) {
        // SAFETY: the caller passes null or a string.
        let name = unsafe { text(name) }?;
        call(Cost::Other, |call| {
            call.context()?;
            let functions = &call.modules.get(module)?.functions;
            let handle = functions.get(&name).copied();
            let handle = handle.ok_or_else(|| unknown_kernel("the module", &name, functions.keys()))?;
            call.load_code(handle)?;
            function.set(handle)
        })
    }

    fn cuModuleGetFunctionCount(count: Out<c_uint>, module: CUmodule) {
        call(Cost::Free, |call| {
            call.context()?;
            count.set(call.modules.get(module)?.functions.len() as c_uint)
        })
    }

    fn cuModuleEnumerateFunctions(functions: *mut CUfunction, count: c_uint, module: CUmodule) {
        if functions.is_null() || count == 0 {
            return Err(CudaError::InvalidValue);
        }
        call(Cost::Free, |call| {
            call.context()?;
            let all = call.modules.get(module)?.functions.values();
            for (index, function) in all.take(count as usize).enumerate() {
                // SAFETY: the caller has room for that many handles.
                unsafe { functions.add(index).write(*function) };
            }
            Ok(())
        })
    }

    fn cuModuleGetGlobal_v2(address: Out<CUdeviceptr>, bytes: Out<usize>, module: CUmodule, name: *const c_char) {
        // SAFETY: the caller passes null or a string.
        let name = unsafe { text(name) }?;
        call(Cost::Other, |call| {
            call.context()?;
            let (base, len) = call.modules.get(module)?.required_global(&name)?;
            address.set_if_wanted(base);
            bytes.set_if_wanted(len);
            Ok(())
        })
    }

    fn cuModuleGetLoadingMode(mode: Out<c_uint>) {
        mode.set(lazy::mode())
    }
}

fn load(out: Out<CUmodule>, image: &[u8], options: &mut JitOptions) -> Result<(), CudaError> {
    call(Cost::ModuleLoad, |call| {
        let context = call.context()?;
        let device = call.profile_of(context)?.device.clone();
        let loaded = module_in(image, &device, options).and_then(|module| {
            let loaded = call.load_module(context, &module)?;
            let executable = call.modules.get(loaded)?.executable.clone();
            Ok((loaded, notes_on(&executable)))
        });
        out.set(call.loaded(loaded, options)?)
    })
}

/// The module in an image, for a device.
pub(in crate::driver) fn module_in(
    image: &[u8],
    device: &DeviceProfile,
    options: &JitOptions,
) -> Result<Module, Refusal> {
    let mut module = link::module_of(&ptx_of(image, device)?)?;
    check_target(device, &module)?;
    if let Some(most) = options.max_registers() {
        module.limit_registers(most);
    }
    Ok(module)
}

/// A line for each kernel that cannot be launched.
pub(in crate::driver) fn notes_on(executable: &Executable) -> String {
    let refused = executable.kernels().iter().filter_map(refusal_of);
    refused.collect::<Vec<_>>().join("\n")
}

impl LoadedModule {
    pub(in crate::driver) fn function(&self, name: &str) -> Option<CUfunction> {
        self.functions.get(name).copied()
    }

    /// Address and size of a global variable.
    pub(in crate::driver) fn global(&self, name: &str) -> Option<(CUdeviceptr, usize)> {
        self.globals.get(name).copied()
    }

    /// As [`global`](Self::global).
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_FOUND`, with the names that there are.
    pub(super) fn required_global(&self, name: &str) -> Result<(CUdeviceptr, usize), CudaError> {
        self.global(name).ok_or_else(|| {
            // What the compiler has named itself is of no use to the program.
            let known = self.globals.keys().map(String::as_str);
            let known = known.filter(|name| !name.starts_with("anon_"));
            because_unknown("the module", "variable", name, known)
        })
    }
}

/// `CUDA_ERROR_NOT_FOUND` of a kernel that `owner` does not have, with those that it has.
pub(super) fn unknown_kernel<'a>(
    owner: &str,
    name: &str,
    known: impl Iterator<Item = &'a String>,
) -> CudaError {
    because_unknown(owner, "kernel", name, known.map(String::as_str))
}

/// Why a module cannot be loaded: for the program, and for people.
pub(in crate::driver) struct Refusal {
    error: CudaError,
    explanation: String,
}

impl Refusal {
    pub(in crate::driver) fn new(error: CudaError, explanation: String) -> Self {
        Self { error, explanation }
    }
}

impl From<CudaError> for Refusal {
    fn from(error: CudaError) -> Self {
        let explanation = error.to_string();
        Self { error, explanation }
    }
}

impl From<PtxError> for Refusal {
    fn from(error: PtxError) -> Self {
        Self {
            error: match error.kind {
                PtxErrorKind::Syntax => CudaError::InvalidPtx,
                PtxErrorKind::Unsupported => CudaError::NotSupported,
            },
            explanation: error.to_string(),
        }
    }
}

/// The number in the module's target.
fn architecture(module: &Module) -> Option<u32> {
    let digits: String = module.target.chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Refuses modules for newer drivers and newer devices.
pub(in crate::driver) fn check_target(
    device: &DeviceProfile,
    module: &Module,
) -> Result<(), Refusal> {
    /// Later versions of PTX 9 add instructions to those of 9.0, which CUDA 13.0 brought. One that is not known refuses its kernel.
    const NEWEST_MAJOR: u32 = 9;
    let (major, minor) = module.version;
    if major > NEWEST_MAJOR {
        return Err(Refusal {
            error: CudaError::UnsupportedPtxVersion,
            explanation: format!("PTX {major}.{minor} is newer than {NEWEST_MAJOR}.x"),
        });
    }
    let capability = device.compute_capability_major * 10 + device.compute_capability_minor;
    let architecture_specific = module.target.ends_with('a');
    match architecture(module) {
        Some(target) if target > capability || architecture_specific && target != capability => {
            Err(Refusal {
                error: CudaError::NoBinaryForGpu,
                explanation: format!(
                    "the module is for {}, the device is sm_{capability}",
                    module.target
                ),
            })
        }
        _ => Ok(()),
    }
}

impl Simulator {
    /// Fills the logs of a call that loads an image, for which there may be notes, and reports a refusal.
    pub(in crate::driver) fn loaded<R>(
        &mut self,
        result: Result<(R, String), Refusal>,
        options: &mut JitOptions,
    ) -> Result<R, CudaError> {
        match result {
            Ok((loaded, notes)) => {
                options.succeeded(&notes);
                Ok(loaded)
            }
            Err(refusal) => {
                options.failed(&refusal.explanation);
                Err(self.refuse(refusal))
            }
        }
    }

    /// Loads a module into a context.
    pub(in crate::driver) fn load_parsed(
        &mut self,
        context: CUcontext,
        module: &Module,
    ) -> Result<CUmodule, CudaError> {
        self.load_module(context, module)
            .map_err(|refusal| self.refuse(refusal))
    }

    fn refuse(&mut self, refusal: Refusal) -> CudaError {
        let Refusal { error, explanation } = refusal;
        crate::say!("software GPU: the module is refused: {explanation}");
        self.last_refusal = Some(explanation);
        error
    }

    /// Removes a module, its functions and its variables.
    pub(in crate::driver) fn unload(&mut self, module: CUmodule) -> Result<(), CudaError> {
        let unloaded = self.modules.remove(module)?;
        for function in unloaded.functions.into_values() {
            self.functions.remove(function)?;
        }
        for (address, _) in unloaded.globals.into_values() {
            self.free(address);
        }
        Ok(())
    }

    fn load_module(&mut self, context: CUcontext, module: &Module) -> Result<CUmodule, Refusal> {
        let latencies = Latencies::of(self.profile_of(context)?);
        let globals = self.place_globals(context, module)?;
        let executable = self.initialise_globals(module, &globals).and_then(|()| {
            Executable::new(module, latencies, &|name| {
                globals.get(name).map(|(address, _)| *address)
            })
        });
        let executable = match executable {
            Ok(executable) => Arc::new(executable),
            Err(error) => {
                self.free_globals(&globals);
                return Err(error.into());
            }
        };
        let names: Vec<_> = executable
            .kernels()
            .iter()
            .map(|kernel| kernel.name().to_owned())
            .collect();
        let handle = self.modules.insert(LoadedModule {
            context,
            architecture: architecture(module).unwrap_or(0),
            executable: Arc::clone(&executable),
            globals,
            functions: BTreeMap::new(),
        });
        for (index, name) in names.into_iter().enumerate() {
            let function = LoadedFunction::new(context, handle, Arc::clone(&executable), index);
            let function = self.functions.insert(function);
            if let Ok(module) = self.modules.get_mut(handle) {
                module.functions.insert(name, function);
            }
        }
        Ok(handle)
    }

    fn place_globals(&mut self, context: CUcontext, module: &Module) -> Result<Globals, Refusal> {
        let mut globals = Globals::new();
        let placed = module.globals.iter().filter(|variable| is_placed(variable));
        let placed = placed.map(|variable| {
            let bytes = variable.bytes.max(1);
            (variable.name.as_str(), bytes, variable.managed)
        });
        let allocates = module
            .functions
            .iter()
            .any(|f| f.name == "malloc" && f.body.is_none());
        let heap = allocates.then_some((exec::HEAP, exec::HEAP_BYTES, false));
        let workspace = exec::uses_grid_workspace(module);
        let workspace =
            workspace.then_some((exec::GRID_WORKSPACE, exec::GRID_WORKSPACE_BYTES, false));
        for (name, bytes, managed) in placed.chain(heap).chain(workspace) {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            let allocated = match managed {
                true => self.allocate_managed(context, bytes),
                false => self
                    .allocate_device(context, bytes, AllocationKind::ModuleGlobal)
                    .map(|(address, _)| address),
            };
            match allocated {
                Ok(address) => {
                    globals.insert(name.to_owned(), (address, bytes));
                }
                Err(error) => {
                    self.free_globals(&globals);
                    let explanation = format!("no memory for the {bytes} bytes of `{name}`");
                    return Err(Refusal { error, explanation });
                }
            }
        }
        Ok(globals)
    }

    fn free_globals(&mut self, globals: &Globals) {
        for (address, _) in globals.values() {
            self.free(*address);
        }
    }

    fn initialise_globals(&self, module: &Module, globals: &Globals) -> Result<(), PtxError> {
        for variable in module.globals.iter().filter(|variable| is_placed(variable)) {
            let Some((address, bytes)) = globals.get(&variable.name) else {
                continue;
            };
            let data = initial_bytes(variable, module, globals)?;
            let data = &data[..data.len().min(*bytes)];
            if let Some(to) = self.memory.storage(*address, data.len()) {
                // SAFETY: `storage` found that many bytes, and no other code knows the variable yet.
                unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len()) };
            }
        }
        Ok(())
    }
}

fn is_placed(variable: &Variable) -> bool {
    matches!(variable.space, Space::Global | Space::Const) && !variable.external
}

/// The variable's initial bytes with the addresses of other variables and of functions filled in.
fn initial_bytes(
    variable: &Variable,
    module: &Module,
    globals: &Globals,
) -> Result<Vec<u8>, PtxError> {
    let mut data = variable.data.clone();
    for relocation in &variable.relocations {
        let name = &relocation.symbol;
        let known = globals.get(name).map(|(address, _)| *address);
        let base = known.or_else(|| module.function_address(name));
        let base = base.ok_or_else(|| {
            let message =
                "an initialiser can hold addresses of global variables and of functions only";
            PtxError::unsupported(variable.line, name, message)
        })?;
        let address = base.wrapping_add_signed(relocation.addend).to_le_bytes();
        let start = usize::try_from(relocation.offset).unwrap_or(usize::MAX);
        let bytes = (relocation.bytes as usize).min(address.len());
        let end = start.saturating_add(bytes);
        if end as u64 > variable.bytes {
            let message = "an address does not fit into the variable";
            return Err(PtxError::syntax(variable.line, &relocation.symbol, message));
        }
        if data.len() < end {
            data.resize(end, 0);
        }
        data[start..end].copy_from_slice(&address[..bytes]);
    }
    Ok(data)
}

/// # Safety
/// `name` is null or a string.
pub(in crate::driver) unsafe fn text(name: *const c_char) -> Result<String, CudaError> {
    if name.is_null() {
        return Err(CudaError::InvalidValue);
    }
    // SAFETY: not null, so a string.
    Ok(unsafe { CStr::from_ptr(name) }
        .to_string_lossy()
        .into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Profile;

    #[test]
    fn architecture_specific_code_is_for_one_compute_capability() {
        for (device, target, fits) in [
            ("h200", "sm_90a", true),
            ("h200", "sm_90", true),
            ("h200", "sm_100a", false),
            ("a100", "sm_90a", false),
            ("a100", "sm_80", true),
            ("b200", "sm_90a", false),
            ("b200", "sm_90", true),
        ] {
            let profile = Profile::named(device)
                .expect("is built in")
                .expect("is valid");
            let text = format!(".version 8.0\n.target {target}\n.address_size 64\n");
            let module = crate::ptx::parse(&text).expect("is PTX");
            let refused = check_target(&profile.device, &module).err();
            let error = refused.map(|refusal| refusal.error);
            let expected = (!fits).then_some(CudaError::NoBinaryForGpu);
            assert_eq!(error, expected, "{target} on {device}");
        }
    }
}
