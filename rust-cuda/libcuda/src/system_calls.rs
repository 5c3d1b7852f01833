//! Functions of the C library that let the kernel access memory of the program: `read`, `write` and their relatives.
//!
//! The race checker protects pages of page-locked memory while operations on them are pending. The program's own access there faults
//! and continues; the kernel's access on behalf of the program fails with `EFAULT` instead. So the shared library defines these
//! functions, too. Each tells the software GPU which bytes it is about to access, and then calls the next definition of its name,
//! which is the C library's. The dynamic linker finds the definitions here first in a program that is linked with the library or
//! preloads it.

use core::ffi::{CStr, c_int, c_void};
use core::mem::transmute_copy;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use software_gpu::host::{system_call_reads, system_call_writes};

/// A function that another object defines, once it is known.
struct Next(AtomicPtr<c_void>);

impl Next {
    const fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    /// The address of the next definition of `name`, as a function of type `F`.
    ///
    /// # Safety
    /// `F` is the type of that function.
    unsafe fn function<F>(&self, name: &CStr) -> F {
        let mut address = self.0.load(Ordering::Relaxed);
        if address.is_null() {
            // SAFETY: the name ends with a zero byte.
            address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
            if address.is_null() {
                // Its caller was linked with it, so the C library has it.
                std::process::abort();
            }
            self.0.store(address, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise.
        unsafe { transmute_copy(&address) }
    }
}

/// Defines functions of the C library. `accesses` says what the call does to `$bytes` bytes from `$start` on.
macro_rules! before {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty, $accesses:ident($start:expr, $bytes:expr);)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the C library.")]
        ///
        /// # Safety
        /// As that function's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> $result {
            static NEXT: Next = Next::new();
            let name = concat!(stringify!($name), "\0").as_bytes();
            // SAFETY: the bytes end with the only zero byte.
            let name = unsafe { CStr::from_bytes_with_nul_unchecked(name) };
            $accesses($start.cast(), $bytes);
            // SAFETY: the declaration is that of the C library, and the caller keeps its conditions.
            unsafe {
                let next = NEXT.function::<unsafe extern "C" fn($($kind),*) -> $result>(name);
                next($($argument),*)
            }
        }
    )*};
}

before! {
    read(file: c_int, to: *mut c_void, bytes: usize) -> isize, system_call_writes(to, bytes);
    pread(file: c_int, to: *mut c_void, bytes: usize, at: i64) -> isize, system_call_writes(to, bytes);
    pread64(file: c_int, to: *mut c_void, bytes: usize, at: i64) -> isize, system_call_writes(to, bytes);
    recv(socket: c_int, to: *mut c_void, bytes: usize, flags: c_int) -> isize, system_call_writes(to, bytes);
    write(file: c_int, from: *const c_void, bytes: usize) -> isize, system_call_reads(from, bytes);
    pwrite(file: c_int, from: *const c_void, bytes: usize, at: i64) -> isize, system_call_reads(from, bytes);
    pwrite64(file: c_int, from: *const c_void, bytes: usize, at: i64) -> isize, system_call_reads(from, bytes);
    send(socket: c_int, from: *const c_void, bytes: usize, flags: c_int) -> isize, system_call_reads(from, bytes);
    fread(to: *mut c_void, size: usize, count: usize, file: *mut libc::FILE) -> usize,
        system_call_writes(to, size.saturating_mul(count));
    fwrite(from: *const c_void, size: usize, count: usize, file: *mut libc::FILE) -> usize,
        system_call_reads(from, size.saturating_mul(count));
    // What `_FORTIFY_SOURCE` calls in their place.
    __read_chk(file: c_int, to: *mut c_void, bytes: usize, room: usize) -> isize, system_call_writes(to, bytes);
    __pread_chk(file: c_int, to: *mut c_void, bytes: usize, at: i64, room: usize) -> isize, system_call_writes(to, bytes);
    __pread64_chk(file: c_int, to: *mut c_void, bytes: usize, at: i64, room: usize) -> isize, system_call_writes(to, bytes);
    __recv_chk(socket: c_int, to: *mut c_void, bytes: usize, room: usize, flags: c_int) -> isize, system_call_writes(to, bytes);
    __fread_chk(to: *mut c_void, room: usize, size: usize, count: usize, file: *mut libc::FILE) -> usize,
        system_call_writes(to, size.saturating_mul(count));
}
