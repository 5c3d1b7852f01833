//! Variables that nvcc's `__managed__` declares.
//!
//! The host code reads such a variable through a pointer. Before its first use in a file, nvcc's code calls `__cudaInitModule`, which loads
//! the fat binary and stores the variables' addresses in these pointers.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

use crate::call::say;
use crate::driver;
use crate::error::Result;
use crate::registry;

/// Addresses are numbers here, because they are shared between threads.
#[derive(Clone, Copy)]
struct Managed {
    binary: usize,
    /// Where the host code's pointer is.
    pointer: usize,
    name: usize,
    bytes: usize,
}

static MANAGED: Mutex<Vec<Managed>> = Mutex::new(Vec::new());

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterManagedVar(
    binary: *mut *mut c_void,
    pointer: *mut *mut c_void,
    _device_address: *mut c_char,
    name: *const c_char,
    _external: c_int,
    bytes: usize,
    _constant: c_int,
    _global: c_int,
) {
    let managed = Managed {
        binary: binary as usize,
        pointer: pointer as usize,
        name: name as usize,
        bytes,
    };
    MANAGED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(managed);
}

/// Sets the addresses of the binary's managed variables in the host code. Returns 1, which is kept as "done".
#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaInitModule(binary: *mut *mut c_void) -> c_char {
    let all = MANAGED.lock().unwrap_or_else(PoisonError::into_inner);
    for managed in all.iter().filter(|m| m.binary == binary as usize) {
        // SAFETY: nvcc's code has registered the name and the pointer, which live as long as the program.
        let result = unsafe { connect(*managed) };
        if let Err(error) = result {
            // SAFETY: as above.
            let name = unsafe { CStr::from_ptr(managed.name as *const c_char) };
            say(&format!(
                "the managed variable {} cannot be placed ({error:?}): the program cannot read it",
                name.to_string_lossy()
            ));
        }
    }
    1
}

/// # Safety
/// The name is a string, and the pointer can be written.
unsafe fn connect(managed: Managed) -> Result {
    let library = registry::library(managed.binary)?;
    let (mut address, mut bytes) = (0, 0);
    let name = managed.name as *const c_char;
    // SAFETY: the caller's promise.
    unsafe {
        driver::cuLibraryGetManaged(&mut address, &mut bytes, library, name)?;
        (managed.pointer as *mut *mut c_void).write(address as *mut c_void);
    }
    // A symbol function gets the variable's own address.
    registry::register_variable(
        address as usize,
        managed.binary,
        managed.name,
        managed.bytes,
    );
    Ok(())
}
