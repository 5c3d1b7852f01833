//! Linking of PTX: `cuLink*`.
//!
//! The outcome is an image for `cuModuleLoadData` and its variants: the modules one after the other, each with its name in
//! front. They are put together when the image is loaded, and before that to find what is wrong with them: the driver's
//! `cuLinkAddData` refuses a second definition, its `cuLinkComplete` what is not defined.

use std::ffi::{CString, c_char, c_uint, c_void};
use std::path::Path;

use super::image::ptx_of;
use super::jit::JitOptions;
use super::module::{Refusal, check_target, notes_on, text};
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUlinkState, Out};
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;
use crate::exec::{Executable, Latencies};
use crate::ptx::{LinkError, Module, link, parse};
use crate::timeline::profile::DeviceProfile;

/// In front of each module of a linked image.
const MARK: &str = "//# linked by the software GPU: ";
/// Behind it, where registers are bounded.
const MAX_REGISTERS: &str = "//# registers of a thread: ";

/// `CUjitInputType`.
const CUBIN: c_uint = 0;
const PTX: c_uint = 1;
const FAT_BINARY: c_uint = 2;
const OBJECT: c_uint = 3;
const LIBRARY: c_uint = 4;
const NVVM: c_uint = 5;

/// A link under way.
pub(in crate::driver) struct LinkState {
    /// What the outcome is for.
    device: DeviceProfile,
    options: JitOptions,
    inputs: Vec<Input>,
    /// The image, once it is complete.
    image: Option<CString>,
}

/// One module of a link.
struct Input {
    name: String,
    text: String,
    module: Module,
    /// What the options of the link or of this input allow a thread.
    max_registers: Option<u32>,
}

entry_points! {
    fn cuLinkCreate | cuLinkCreate_v2 (
        count: c_uint, options: *const c_uint, values: *mut *mut c_void, state: Out<CUlinkState>,
    ) {
        // SAFETY: the caller passes that many options with as many values, which it keeps as long as the link.
        create(state, unsafe { JitOptions::read(count, options, values) }?)
    }

    fn cuLinkAddData | cuLinkAddData_v2 (
        state: CUlinkState,
        kind: c_uint,
        data: *const c_void,
        bytes: usize,
        name: *const c_char,
        count: c_uint,
        options: *const c_uint,
        values: *mut *mut c_void,
    ) {
        // SAFETY: the caller passes null or that many bytes, null or a string, and that many options.
        unsafe {
            let options = JitOptions::read(count, options, values)?;
            add_data(state, kind, data, bytes, name, &options)
        }
    }

    fn cuLinkAddFile | cuLinkAddFile_v2 (
        state: CUlinkState,
        kind: c_uint,
        path: *const c_char,
        count: c_uint,
        options: *const c_uint,
        values: *mut *mut c_void,
    ) {
        // SAFETY: the caller passes null or a string, and that many options.
        let (options, path) = unsafe { (JitOptions::read(count, options, values)?, text(path)?) };
        let data = std::fs::read(Path::new(&path)).map_err(|_| CudaError::FileNotFound)?;
        add(state, kind, &data, Some(path), &options)
    }

    /// The image belongs to the link and lives as long.
    fn cuLinkComplete(state: CUlinkState, image: Out<*const c_void>, bytes: Out<usize>) {
        let image = image.required()?;
        call(Cost::ModuleLoad, |call| {
            let latencies = Latencies::of(&call.device(0)?.profile);
            let link = call.links.get(state)?;
            if link.image.is_none() {
                let linked = linked(link, latencies);
                let text = call.loaded_by(state, linked)?;
                call.links.get_mut(state)?.image = Some(text);
            }
            let kept = call.links.get(state)?.image.as_ref().ok_or(CudaError::InvalidImage)?;
            bytes.set_if_wanted(kept.as_bytes_with_nul().len());
            image.set(kept.as_ptr().cast())
        })
    }

    fn cuLinkDestroy(state: CUlinkState) {
        call(Cost::Free, |call| call.links.remove(state).map(|_| ()))
    }
}

fn create(state: Out<CUlinkState>, options: JitOptions) -> Result<(), CudaError> {
    let state = state.required()?;
    call(Cost::Other, |call| {
        let context = call.context()?;
        let device = call.profile_of(context)?.device.clone();
        state.set(call.links.insert(LinkState {
            device,
            options,
            inputs: Vec::new(),
            image: None,
        }))
    })
}

/// # Safety
/// `data` is null or has that many bytes, `name` is null or a string.
unsafe fn add_data(
    state: CUlinkState,
    kind: c_uint,
    data: *const c_void,
    bytes: usize,
    name: *const c_char,
    options: &JitOptions,
) -> Result<(), CudaError> {
    if data.is_null() || bytes == 0 {
        return Err(CudaError::InvalidValue);
    }
    let name = match name.is_null() {
        true => None,
        // SAFETY: not null, so a string.
        false => Some(unsafe { text(name) }?),
    };
    // SAFETY: the caller's promise.
    let data = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) };
    add(state, kind, data, name, options)
}

fn add(
    state: CUlinkState,
    kind: c_uint,
    data: &[u8],
    name: Option<String>,
    options: &JitOptions,
) -> Result<(), CudaError> {
    call(Cost::ModuleLoad, |call| {
        let link = call.links.get(state)?;
        if link.image.is_some() {
            return Err(CudaError::InvalidValue);
        }
        let name = name.unwrap_or_else(|| format!("<input {}>", link.inputs.len() + 1));
        match inputs(link, kind, data, &name.replace('\n', " ")) {
            Ok(inputs) => {
                let link = call.links.get_mut(state)?;
                let most = options.max_registers().or(link.options.max_registers());
                link.inputs.extend(inputs.into_iter().map(|input| Input {
                    max_registers: input.max_registers.or(most),
                    ..input
                }));
                Ok(())
            }
            Err(refusal) => call.loaded_by(state, Err(refusal)),
        }
    })
}

/// The modules in the data, if they can join those of the link.
fn inputs(link: &LinkState, kind: c_uint, data: &[u8], name: &str) -> Result<Vec<Input>, Refusal> {
    check_kind(kind, data)?;
    let inputs = read(&ptx_of(data, &link.device)?, name)?;
    for input in &inputs {
        check_target(&link.device, &input.module)?;
    }
    match put_together(link.inputs.iter().chain(&inputs)) {
        Err(error) if !error.multiple.is_empty() => {
            Err(explained(CudaError::InvalidSource, &error.multiple))
        }
        _ => Ok(inputs),
    }
}

/// Allows PTX, also in a fat binary, and as machine code what an earlier link made.
fn check_kind(kind: c_uint, data: &[u8]) -> Result<(), Refusal> {
    let (error, what) = match kind {
        PTX | FAT_BINARY => return Ok(()),
        CUBIN if data.starts_with(MARK.as_bytes()) => return Ok(()),
        CUBIN => (CudaError::NoBinaryForGpu, "machine code"),
        LIBRARY => (
            CudaError::NotSupported,
            "a library, such as libcudadevrt.a of dynamic parallelism,",
        ),
        OBJECT..=NVVM => (CudaError::NotSupported, "an object or NVVM"),
        _ => return Err(CudaError::InvalidValue.into()),
    };
    Err(Refusal::new(
        error,
        format!("cuLinkAddData: linking {what} is not supported: pass PTX instead"),
    ))
}

/// The modules of a text: one, or those of a linked image, each with its own name.
fn read(text: &str, name: &str) -> Result<Vec<Input>, Refusal> {
    let input = |name: &str, max_registers: Option<u32>, text: &str| {
        let mut module = parse(text)?;
        if let Some(most) = max_registers {
            module.limit_registers(most);
        }
        Ok(Input {
            name: name.to_owned(),
            text: text.to_owned(),
            module,
            max_registers,
        })
    };
    if !text.starts_with(MARK) {
        return Ok(vec![input(name, None, text)?]);
    }
    let units = text.split(MARK).skip(1);
    units
        .map(|unit| {
            let (name, text) = unit.split_once('\n').unwrap_or((unit, ""));
            let bound = text.strip_prefix(MAX_REGISTERS);
            let bound = bound.and_then(|rest| rest.split_once('\n'));
            match bound {
                Some((most, text)) => input(name, most.parse().ok(), text),
                None => input(name, None, text),
            }
        })
        .collect()
}

fn put_together<'i>(inputs: impl Iterator<Item = &'i Input>) -> Result<Module, LinkError> {
    link(
        inputs
            .map(|input| (input.name.clone(), input.module.clone()))
            .collect(),
    )
}

/// The image of a link whose modules fit together and whose code can be executed.
fn linked(link: &LinkState, latencies: Latencies) -> Result<(CString, String), Refusal> {
    let module = put_together(link.inputs.iter()).map_err(unresolved)?;
    // With any addresses: those of a context are not known yet.
    let executable = Executable::new(&module, latencies, &|_| Some(0))?;
    let unit = |input: &Input| {
        let bound = input.max_registers;
        let bound = bound.map_or_else(String::new, |most| format!("{MAX_REGISTERS}{most}\n"));
        format!("{MARK}{}\n{bound}{}\n", input.name, input.text)
    };
    let text: String = link.inputs.iter().map(unit).collect();
    let image = CString::new(text).map_err(|_| CudaError::InvalidImage)?;
    Ok((image, notes_on(&executable)))
}

fn unresolved(error: LinkError) -> Refusal {
    explained(CudaError::Unknown, &error.undefined)
}

/// A refusal with a line for each message, as the driver's linker writes them.
fn explained(error: CudaError, messages: &[String]) -> Refusal {
    let lines: Vec<_> = messages
        .iter()
        .map(|message| format!("error   : {message}"))
        .collect();
    Refusal::new(error, lines.join("\n"))
}

impl crate::driver::simulation::simulator::Simulator {
    /// As [`loaded`](Self::loaded), with the options of a link.
    fn loaded_by<R>(
        &mut self,
        state: CUlinkState,
        result: Result<(R, String), Refusal>,
    ) -> Result<R, CudaError> {
        let options = &mut self.links.get_mut(state)?.options;
        let mut options = std::mem::replace(options, JitOptions::none());
        let result = self.loaded(result, &mut options);
        self.links.get_mut(state)?.options = options;
        result
    }
}

/// The module of an image: parsed, or linked from several.
pub(in crate::driver) fn module_of(text: &str) -> Result<Module, Refusal> {
    if !text.starts_with(MARK) {
        return Ok(parse(text)?);
    }
    put_together(read(text, "")?.iter()).map_err(unresolved)
}
