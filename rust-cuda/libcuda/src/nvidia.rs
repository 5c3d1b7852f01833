//! NVIDIA's driver: the library `libcuda.so.1`, loaded on demand.
//!
//! Symbols are looked up in the loaded library's own scope, never in the process: there they
//! would be this crate's exports. For the same reason the library is loaded with local binding,
//! and NVIDIA's binds its internal calls to itself (an executable does not export `cu*` to the
//! libraries that it loads, unless linked with `-rdynamic`).

use crate::result::{CuResult, SUCCESS};
use crate::symbols::Symbol;
use crate::{exports, slots};
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use libloading::Library;
use std::env;
use std::ffi::{OsStr, OsString};

#[cfg(target_os = "macos")]
const FILE: &str = "libcuda.dylib";
#[cfg(windows)]
const FILE: &str = "nvcuda.dll";
#[cfg(not(any(target_os = "macos", windows)))]
const FILE: &str = "libcuda.so.1";

/// The environment variable that names NVIDIA's library by its path, for a process that finds this library under
/// NVIDIA's name first.
const VARIABLE: &str = "CUDA_DRIVER_LIBRARY";

/// What to do when another library bears NVIDIA's name.
const REMEDY: &str = "CUDA_DRIVER_LIBRARY can name NVIDIA's by its path";

type CuInit = unsafe extern "C" fn(flags: c_uint) -> CuResult;
type CuDeviceGetCount = unsafe extern "C" fn(count: *mut c_int) -> CuResult;
type CuDriverGetVersion = unsafe extern "C" fn(version: *mut c_int) -> CuResult;
type CuGetErrorName = unsafe extern "C" fn(error: CuResult, name: *mut *const c_char) -> CuResult;

/// NVIDIA's driver, initialised and with at least one device.
pub(crate) struct Nvidia {
    /// Never unloaded: the driver keeps threads and exit handlers of its own.
    library: ManuallyDrop<Library>,
    description: String,
}

impl Nvidia {
    /// Loads and initialises the driver, or explains why it cannot be used.
    pub(crate) fn start() -> Result<Self, String> {
        let file = file();
        // SAFETY: loading a system library runs its initialisers; NVIDIA's have no preconditions.
        let library =
            unsafe { Library::new(&file) }.map_err(|error| not_loaded(&file, &cause(&error)))?;
        let mut nvidia = Self {
            library: ManuallyDrop::new(library),
            description: String::new(),
        };
        let devices = nvidia.initialise()?;
        nvidia.description = nvidia.describe(devices);
        Ok(nvidia)
    }

    /// Makes every exported function jump into this driver.
    pub(crate) fn fill_slots(&self) {
        // SAFETY: the library stays loaded and has the functions of cuda.h under their names.
        unsafe {
            slots::fill(|name| {
                let address = self.library.get::<*mut c_void>(name).ok()?;
                NonNull::new(*address)
            })
        }
    }

    /// Which library, its CUDA version and its devices, in words.
    pub(crate) fn description(self) -> String {
        self.description
    }

    /// Initialises the driver and returns its number of devices, which is not 0.
    fn initialise(&self) -> Result<c_int, String> {
        // SAFETY: the signatures are those of cuda.h.
        let (init, device_get_count) = unsafe {
            (
                self.library.get::<CuInit>("cuInit"),
                self.library.get::<CuDeviceGetCount>("cuDeviceGetCount"),
            )
        };
        let (Ok(init), Ok(device_get_count)) = (init, device_get_count) else {
            return Err(format!("{FILE} is no CUDA driver: it has no cuInit"));
        };
        if *init as usize == exports::EXPORTS[Symbol::cuInit as usize] as usize {
            return Err(format!(
                "the {FILE} found first is this very library; {REMEDY}"
            ));
        }
        // SAFETY: cuInit may be called at any time; its flags must be 0.
        self.check("cuInit", unsafe { init(0) })?;
        let mut devices = 0;
        // SAFETY: the driver is initialised, and `devices` may be written to.
        self.check("cuDeviceGetCount", unsafe {
            device_get_count(&mut devices)
        })?;
        if devices > 0 {
            Ok(devices)
        } else {
            Err(format!("cuDeviceGetCount of {FILE} counts no device"))
        }
    }

    fn check(&self, call: &str, result: CuResult) -> Result<(), String> {
        match result {
            SUCCESS => Ok(()),
            error => Err(match self.error_name(error) {
                Some(name) => format!("{call} of {FILE} gave {error} {name}"),
                None => format!("{call} of {FILE} gave {error}"),
            }),
        }
    }

    /// The name of `error` as the driver gives it.
    fn error_name(&self, error: CuResult) -> Option<String> {
        // SAFETY: the signature is that of cuda.h.
        let get = unsafe { self.library.get::<CuGetErrorName>("cuGetErrorName") }.ok()?;
        let mut name = core::ptr::null();
        // SAFETY: the call is allowed before cuInit, and `name` may be written to.
        if unsafe { get(error, &mut name) } != SUCCESS || name.is_null() {
            return None;
        }
        // SAFETY: on success the name is a C string that lives as long as the driver.
        let name = unsafe { CStr::from_ptr(name) };
        Some(name.to_string_lossy().into_owned())
    }

    fn describe(&self, devices: c_int) -> String {
        let plural = if devices == 1 { "" } else { "s" };
        let mut version = 0;
        // SAFETY: the signature is that of cuda.h.
        if let Ok(get) = unsafe { self.library.get::<CuDriverGetVersion>("cuDriverGetVersion") } {
            // SAFETY: the call is allowed at any time, and `version` may be written to.
            unsafe { get(&mut version) };
        }
        let (major, minor) = (version / 1000, version % 1000 / 10);
        format!("{FILE} of CUDA {major}.{minor}, {devices} device{plural}")
    }
}

/// Why a library that calls this one is not NVIDIA's driver.
pub(crate) fn forwards_here() -> String {
    format!("the {FILE} found first forwards to this very library; {REMEDY}")
}

/// Distinguishes a missing library, the usual case, from one that does not load.
fn not_loaded(file: &OsStr, cause: &str) -> String {
    let file = file.to_string_lossy();
    let absent = format!("{file}: cannot open shared object file: No such file");
    if cause.starts_with(&absent) {
        format!("{file} not found")
    } else {
        format!("{file} did not load: {cause}")
    }
}

/// The library's name or path, for the loader.
fn file() -> OsString {
    env::var_os(VARIABLE)
        .filter(|path| !path.is_empty())
        .unwrap_or_else(|| FILE.into())
}

/// The loader's own words, which libloading keeps in the source of its error.
fn cause(error: &libloading::Error) -> String {
    std::error::Error::source(error)
        .unwrap_or(error)
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_distinguished_from_a_broken_one() {
        let missing = "cannot open shared object file: No such file or directory";
        assert_eq!(
            not_loaded(OsStr::new(FILE), &format!("{FILE}: {missing}")),
            format!("{FILE} not found")
        );
        assert_eq!(
            not_loaded(OsStr::new(FILE), &format!("libnvidia-ptx.so: {missing}")),
            format!("{FILE} did not load: libnvidia-ptx.so: {missing}")
        );
    }
}
