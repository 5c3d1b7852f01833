//! Which kernel and which variable an address of the program stands for.
//!
//! nvcc puts calls of `__cudaRegister*` into each object file, which run before `main`: they name a fat binary, and with it
//! the kernels and variables in it, each by the address of a host function or variable. The runtime loads a fat binary as a
//! library of the driver when the program first uses something in it. The driver chooses among the binary's images.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::call::say;
use crate::context;
use crate::driver::{self, Address, Handle};
use crate::error::{Error, Result};

/// `__fatBinC_Wrapper_t` of `fatbinary_section.h`.
#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    data: *const c_void,
    prelinked: *const c_void,
}

const WRAPPER_MAGIC: u32 = 0x4662_43b1;

/// A fat binary of the program. Addresses are numbers here, because they are shared between threads.
struct FatBinary {
    image: usize,
    /// `CUlibrary`, or why it could not be loaded.
    library: Option<Result<usize>>,
}

struct RegisteredKernel {
    binary: usize,
    name: usize,
    /// `CUkernel`, once the program has used it.
    handle: Option<usize>,
}

struct Variable {
    binary: usize,
    name: usize,
    bytes: usize,
}

#[derive(Default)]
struct Registry {
    binaries: BTreeMap<usize, FatBinary>,
    /// Grows with each fat binary. Their handles start at 1.
    last: usize,
    kernels: BTreeMap<usize, RegisteredKernel>,
    variables: BTreeMap<usize, Variable>,
    /// `CUkernel` to the address that stands for it: 0 for kernels of libraries that the program loaded. Likewise each
    /// `CUfunction` of a graph's node.
    addresses: BTreeMap<usize, usize>,
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);

fn registry() -> MutexGuard<'static, Option<Registry>> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<T>(function: impl FnOnce(&mut Registry) -> T) -> T {
    function(registry().get_or_insert_default())
}

impl Registry {
    /// `CUlibrary` of a fat binary.
    fn library(&mut self, binary: usize) -> Result<Handle> {
        let binary = self
            .binaries
            .get_mut(&binary)
            .ok_or(Error::INVALID_DEVICE_FUNCTION)?;
        let loaded = binary
            .library
            .get_or_insert_with(|| load(binary.image as *const c_void));
        loaded.map(|library| library as Handle)
    }

    fn kernel(&mut self, address: usize) -> Result<Handle> {
        let Some(kernel) = self.kernels.get(&address) else {
            // A `cudaKernel_t`, perhaps.
            let known = self.addresses.contains_key(&address);
            return if known {
                Ok(address as Handle)
            } else {
                Err(Error::INVALID_DEVICE_FUNCTION)
            };
        };
        if let Some(handle) = kernel.handle {
            return Ok(handle as Handle);
        }
        let (binary, name) = (kernel.binary, kernel.name as *const c_char);
        let library = self.library(binary)?;
        let mut handle = null_mut();
        // SAFETY: the name is a string of the program, and lives as long as it.
        unsafe { driver::cuLibraryGetKernel(&mut handle, library, name) }.map_err(|error| {
            match error {
                Error::SYMBOL_NOT_FOUND => Error::INVALID_DEVICE_FUNCTION,
                error => error,
            }
        })?;
        if let Some(kernel) = self.kernels.get_mut(&address) {
            kernel.handle = Some(handle as usize);
        }
        self.addresses.insert(handle as usize, address);
        Ok(handle)
    }
}

/// The `CUlibrary` of a fat binary, by its handle.
///
/// # Errors
/// The error of loading it.
pub(crate) fn library(binary: usize) -> Result<Handle> {
    with(|registry| registry.library(binary))
}

/// Lets `address` stand for the variable `name` of a fat binary.
pub(crate) fn register_variable(address: usize, binary: usize, name: usize, bytes: usize) {
    let variable = Variable {
        binary,
        name,
        bytes,
    };
    with(|registry| registry.variables.insert(address, variable));
}

fn load(image: *const c_void) -> Result<usize> {
    context::bind()?;
    let mut library = null_mut();
    // SAFETY: the image is a fat binary of the program, and there are no options.
    unsafe {
        driver::cuLibraryLoadData(
            &mut library,
            image,
            null_mut(),
            null_mut(),
            0,
            null_mut(),
            null_mut(),
            0,
        )
    }?;
    Ok(library as usize)
}

/// The `CUkernel` that an address stands for.
///
/// # Errors
/// `cudaErrorInvalidDeviceFunction` if the address stands for none, and the error of loading the fat binary.
pub(crate) fn kernel(address: *const c_void) -> Result<Handle> {
    with(|registry| registry.kernel(address as usize))
}

/// The address that stands for a `CUkernel` or a `CUfunction`, or the handle itself.
pub(crate) fn address_of(kernel: Handle) -> *mut c_void {
    let address = with(|registry| registry.addresses.get(&(kernel as usize)).copied());
    match address {
        None | Some(0) => kernel,
        Some(address) => address as *mut c_void,
    }
}

/// Lets the `CUfunction` of a kernel stand for the kernel's address.
pub(crate) fn remember_function(function: Handle, kernel: Handle) {
    with(|registry| {
        let address = registry
            .addresses
            .get(&(kernel as usize))
            .copied()
            .unwrap_or(0);
        registry.addresses.insert(
            function as usize,
            if address == 0 {
                kernel as usize
            } else {
                address
            },
        );
    });
}

/// Lets a kernel of a library that the program loaded stand for itself.
pub(crate) fn remember(kernel: Handle) {
    with(|registry| {
        registry.addresses.entry(kernel as usize).or_insert(0);
    });
}

/// Address and bytes of a variable in the current context.
///
/// # Errors
/// `cudaErrorInvalidSymbol` if the address stands for none, and the error of loading the fat binary.
pub(crate) fn variable(address: *const c_void) -> Result<(Address, usize)> {
    let (library, name) = with(|registry| {
        let variable = registry
            .variables
            .get(&(address as usize))
            .ok_or(Error::INVALID_SYMBOL)?;
        let (binary, name) = (variable.binary, variable.name as *const c_char);
        registry.library(binary).map(|library| (library, name))
    })?;
    let (mut device, mut bytes) = (0, 0);
    // SAFETY: the name is a string of the program, and lives as long as it.
    unsafe { driver::cuLibraryGetGlobal(&mut device, &mut bytes, library, name) }.map_err(
        |error| match error {
            Error::SYMBOL_NOT_FOUND => Error::INVALID_SYMBOL,
            error => error,
        },
    )?;
    let declared = with(|registry| {
        registry
            .variables
            .get(&(address as usize))
            .map(|variable| variable.bytes)
    });
    Ok((
        device,
        declared.filter(|declared| *declared > 0).unwrap_or(bytes),
    ))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterFatBinary(fat_binary: *mut c_void) -> *mut *mut c_void {
    let wrapper = fat_binary.cast::<Wrapper>();
    // SAFETY: nvcc's code passes a wrapper; other code that passes anything else has its magic wrong.
    let image = match unsafe { wrapper.as_ref() } {
        Some(wrapper) if wrapper.magic == WRAPPER_MAGIC => {
            let _ = (wrapper.version, wrapper.prelinked);
            wrapper.data as usize
        }
        _ => {
            say(
                "__cudaRegisterFatBinary: the argument is not a fat binary's wrapper; its kernels cannot be launched",
            );
            0
        }
    };
    with(|registry| {
        registry.last += 1;
        registry.binaries.insert(
            registry.last,
            FatBinary {
                image,
                library: None,
            },
        );
        registry.last as *mut *mut c_void
    })
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinaryEnd(_binary: *mut *mut c_void) {}

/// Runs when the program ends, or unloads one of its libraries.
#[unsafe(no_mangle)]
extern "C" fn __cudaUnregisterFatBinary(binary: *mut *mut c_void) {
    let binary = binary as usize;
    with(|registry| {
        registry.binaries.remove(&binary);
        registry.kernels.retain(|_, kernel| kernel.binary != binary);
        registry
            .variables
            .retain(|_, variable| variable.binary != binary);
    });
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFunction(
    binary: *mut *mut c_void,
    host_function: *const c_char,
    _device_function: *mut c_char,
    name: *const c_char,
    _thread_limit: c_int,
    _tid: *mut c_void,
    _bid: *mut c_void,
    _block: *mut c_void,
    _grid: *mut c_void,
    _warp_size: *mut c_int,
) {
    let kernel = RegisteredKernel {
        binary: binary as usize,
        name: name as usize,
        handle: None,
    };
    with(|registry| registry.kernels.insert(host_function as usize, kernel));
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterVar(
    binary: *mut *mut c_void,
    host_variable: *mut c_char,
    _device_address: *mut c_char,
    name: *const c_char,
    _external: c_int,
    bytes: usize,
    _constant: c_int,
    _global: c_int,
) {
    register_variable(
        host_variable as usize,
        binary as usize,
        name as usize,
        bytes,
    );
}

/// The handle is the address itself: it is looked up at the launch, whose error the program then sees.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaGetKernel(handle: *mut Handle, address: *const c_void) -> u32 {
    // SAFETY: nvcc's code has room for the handle.
    crate::call::call_without_device(|| unsafe { crate::call::set(handle, address.cast_mut()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null;

    #[test]
    fn an_address_that_was_never_registered_is_neither_a_kernel_nor_a_variable() {
        let address = &raw const REGISTRY;
        assert_eq!(kernel(address.cast()), Err(Error::INVALID_DEVICE_FUNCTION));
        assert_eq!(variable(null()), Err(Error::INVALID_SYMBOL));
    }

    #[test]
    fn unregistering_a_fat_binary_forgets_its_kernels() {
        let wrapper = Wrapper {
            magic: WRAPPER_MAGIC,
            version: 1,
            data: null(),
            prelinked: null(),
        };
        let (first, second) = (c"first".as_ptr(), c"second".as_ptr());
        // SAFETY: the wrapper is one.
        let [a, b] = [(); 2]
            .map(|()| unsafe { __cudaRegisterFatBinary((&raw const wrapper).cast_mut().cast()) });
        for (binary, name) in [(a, first), (b, second)] {
            let none = null_mut();
            __cudaRegisterFunction(
                binary,
                name,
                null_mut(),
                name,
                -1,
                none,
                none,
                none,
                none,
                null_mut(),
            );
        }
        __cudaUnregisterFatBinary(a);
        let known =
            |name: *const c_char| with(|registry| registry.kernels.contains_key(&(name as usize)));
        assert!(!known(first) && known(second));
    }
}
