//! Which file an address of the program's code was loaded from.

/// What code belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(unix), allow(dead_code))]
pub(super) enum Object {
    /// The C library or the dynamic linker, which are never where a program makes a call.
    System,
    /// CPython: its interpreter or one of its own extension modules.
    Python,
    /// Anything else, and what is not known.
    Program,
}

/// The owner of the code at the address.
#[cfg(unix)]
pub(super) fn of(address: usize) -> Object {
    use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    /// `Dl_info` of `dlfcn.h`.
    #[repr(C)]
    struct Info {
        file: *const c_char,
        base: *mut c_void,
        symbol: *const c_char,
        symbol_address: *mut c_void,
    }
    unsafe extern "C" {
        fn dladdr(address: *const c_void, info: *mut Info) -> c_int;
    }
    let none: *mut c_void = std::ptr::null_mut();
    let mut info = Info {
        file: none.cast_const().cast(),
        base: none,
        symbol: none.cast_const().cast(),
        symbol_address: none,
    };
    // SAFETY: the function accepts any address, and fills this structure.
    let found = unsafe { dladdr(address as *const c_void, &mut info) };
    if found == 0 || info.file.is_null() {
        return Object::Program;
    }
    // SAFETY: the linker's own string, which ends with a zero and stays while the object is loaded.
    let file = unsafe { CStr::from_ptr(info.file) };
    of_file(Path::new(OsStr::from_bytes(file.to_bytes())))
}

#[cfg(unix)]
fn of_file(file: &std::path::Path) -> Object {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let is_extension = || {
        file.parent()
            .is_some_and(|folder| folder.ends_with("lib-dynload"))
    };
    if is_system_library(&name) {
        Object::System
    } else if is_python(&name) || is_extension() {
        Object::Python
    } else {
        Object::Program
    }
}

/// Elsewhere, sources and names of functions decide.
#[cfg(not(unix))]
pub(super) fn of(_: usize) -> Object {
    Object::Program
}

/// `python`, `python3`, `python3.13` and the library of the same names.
#[cfg(unix)]
fn is_python(name: &str) -> bool {
    let Some(rest) = name
        .strip_prefix("lib")
        .unwrap_or(name)
        .strip_prefix("python")
    else {
        return false;
    };
    let version = rest.split(".so").next().unwrap_or(rest);
    version.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// As the C libraries and dynamic linkers of Linux and macOS are called.
#[cfg(unix)]
fn is_system_library(name: &str) -> bool {
    let names = [
        "libc.",
        "libc-",
        "libpthread",
        "ld-",
        "ld64",
        "libsystem_",
        "libSystem",
        "libdyld",
        "dyld",
    ];
    names.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_is_known_by_the_name_of_its_file() {
        for name in [
            "libc.so.6",
            "libc-2.31.so",
            "libpthread-2.31.so",
            "ld-linux-x86-64.so.2",
            "ld-musl-x86_64.so.1",
            "libsystem_pthread.dylib",
        ] {
            assert!(is_system_library(name), "{name}");
        }
        for name in [
            "libcuda.so.1",
            "libcupti.so.13",
            "libcudart.so",
            "basic_streams",
            "libcplugin.so",
        ] {
            assert!(!is_system_library(name), "{name}");
        }
        let own = the_c_library_is_known_by_the_name_of_its_file as fn() as usize;
        assert_eq!([of(own), of(0)], [Object::Program; 2]);
    }

    #[test]
    fn cpython_is_known_by_its_interpreter_and_its_own_extensions() {
        for file in [
            "python",
            "/usr/bin/python3",
            "/usr/bin/python3.13",
            "/usr/lib/libpython3.11.so.1.0",
            "/usr/lib/python3.11/lib-dynload/_ctypes.cpython-311-x86_64-linux-gnu.so",
        ] {
            assert_eq!(of_file(file.as_ref()), Object::Python, "{file}");
        }
        for file in [
            "/home/me/python-demo",
            "/home/me/pythonic",
            "/site-packages/cuda/bindings/driver.cpython-311-x86_64-linux-gnu.so",
        ] {
            assert_eq!(of_file(file.as_ref()), Object::Program, "{file}");
        }
    }
}
