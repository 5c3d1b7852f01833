//! Which file an address of the program's code was loaded from.

/// Whether the code at the address is the C library's or the dynamic linker's, which are never where a program makes a
/// call. If its file is unknown, it is the program's.
#[cfg(unix)]
pub(super) fn is_system(address: usize) -> bool {
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
    // SAFETY: any address may be asked for, and the structure is the one that is filled.
    let found = unsafe { dladdr(address as *const c_void, &mut info) };
    if found == 0 || info.file.is_null() {
        return false;
    }
    // SAFETY: the linker's own string, which ends with a zero and stays while the object is loaded.
    let file = unsafe { CStr::from_ptr(info.file) };
    let file = Path::new(OsStr::from_bytes(file.to_bytes())).file_name();
    file.is_some_and(|name| is_system_library(&name.to_string_lossy()))
}

/// Elsewhere, sources and names of functions tell.
#[cfg(not(unix))]
pub(super) fn is_system(_: usize) -> bool {
    false
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
        assert!(!is_system(own) && !is_system(0));
    }
}
