//! NVIDIA's management library (NVML), loaded where there is one: the driver's version and the link to the host, which the
//! driver API does not tell.

use crate::machine::library::{Library, Symbol};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr;

/// `NVML_SUCCESS`.
const SUCCESS: c_int = 0;
/// `NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE`.
const VERSION_LENGTH: usize = 80;

type NvmlDevice = *mut c_void;

/// The library, initialised.
pub(crate) struct Nvml {
    library: Library,
}

impl Nvml {
    /// Loads and initialises it (`nvmlInit_v2`); none where that fails.
    pub(crate) fn load() -> Option<Self> {
        const NAMES: [&str; 3] = ["libnvidia-ml.so.1", "libnvidia-ml.so", "nvml.dll"];
        // SAFETY: NVML's initialisers need nothing of this process.
        let mut loaded = NAMES
            .iter()
            .filter_map(|name| unsafe { Library::new(*name) }.ok());
        let library = loaded.next()?;
        {
            // SAFETY: the function has this signature.
            let init: Symbol<unsafe extern "C" fn() -> c_int> =
                unsafe { library.get(b"nvmlInit_v2\0") }.ok()?;
            // SAFETY: it may be called at any time.
            if unsafe { init() } != SUCCESS {
                return None;
            }
        }
        Some(Self { library })
    }

    /// The driver's version, such as `580.159` (`nvmlSystemGetDriverVersion`).
    pub(crate) fn driver_version(&self) -> Option<String> {
        // SAFETY: the function has this signature.
        let ask: Symbol<unsafe extern "C" fn(*mut c_char, c_uint) -> c_int> =
            unsafe { self.library.get(b"nvmlSystemGetDriverVersion\0") }.ok()?;
        let mut text = [0 as c_char; VERSION_LENGTH];
        // SAFETY: the buffer is as long as the argument says.
        if unsafe { ask(text.as_mut_ptr(), VERSION_LENGTH as c_uint) } != SUCCESS {
            return None;
        }
        // SAFETY: on success NVML has written a terminated string.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) };
        Some(text.to_string_lossy().into_owned())
    }

    /// The greatest generation and width of the link of the device on this PCI bus
    /// (`nvmlDeviceGetMaxPcieLinkGeneration`, `nvmlDeviceGetMaxPcieLinkWidth`).
    pub(crate) fn greatest_link(&self, bus: &str) -> Option<(u32, u32)> {
        let bus = CString::new(bus).ok()?;
        // SAFETY: the function has this signature.
        let find: Symbol<unsafe extern "C" fn(*const c_char, *mut NvmlDevice) -> c_int> =
            unsafe { self.library.get(b"nvmlDeviceGetHandleByPciBusId_v2\0") }.ok()?;
        let mut device = ptr::null_mut();
        // SAFETY: the string is terminated, and `device` outlives the call.
        if unsafe { find(bus.as_ptr(), &mut device) } != SUCCESS {
            return None;
        }
        let generation = self.number(b"nvmlDeviceGetMaxPcieLinkGeneration\0", device)?;
        let width = self.number(b"nvmlDeviceGetMaxPcieLinkWidth\0", device)?;
        Some((generation, width))
    }

    /// What a function of this name, which asks for one number of a device, answers.
    fn number(&self, name: &[u8], device: NvmlDevice) -> Option<u32> {
        // SAFETY: both functions that are requested have this signature.
        let ask: Symbol<unsafe extern "C" fn(NvmlDevice, *mut c_uint) -> c_int> =
            unsafe { self.library.get(name) }.ok()?;
        let mut number = 0;
        // SAFETY: the handle is NVML's, and `number` outlives the call.
        (unsafe { ask(device, &mut number) } == SUCCESS).then_some(number)
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        // SAFETY: the function has this signature, and every successful `nvmlInit_v2` is matched by one call of it.
        unsafe {
            if let Ok(shutdown) = self
                .library
                .get::<unsafe extern "C" fn() -> c_int>(b"nvmlShutdown\0")
            {
                shutdown();
            }
        }
    }
}
