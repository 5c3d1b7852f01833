//! Launches with attributes.

use std::ffi::{c_uint, c_void};

use software_gpu::driver::entry_point;

use super::{Error, Handle, LaunchArgument, cu};

/// `CUlaunchAttribute`.
#[repr(C, align(8))]
pub struct Attribute {
    id: c_uint,
    padding: u32,
    value: [u64; 8],
}

/// The attribute with a value of 64 bytes, of which the rest is zero.
pub fn attribute(id: c_uint, words: &[u64]) -> Attribute {
    let mut value = [0; 8];
    value[..words.len()].copy_from_slice(words);
    let padding = 0;
    Attribute { id, padding, value }
}

/// `CUlaunchConfig`.
#[repr(C)]
struct Config {
    extents: [c_uint; 7],
    stream: Handle,
    attributes: *const Attribute,
    count: c_uint,
}

/// Launches blocks of threads with this much dynamic shared memory.
pub fn launch_with(
    function: Handle,
    [blocks, threads, shared_bytes]: [c_uint; 3],
    stream: Handle,
    attributes: &[Attribute],
    arguments: &[&dyn LaunchArgument],
) -> Result<(), Error> {
    let config = Config {
        extents: [blocks, 1, 1, threads, 1, 1, shared_bytes],
        stream,
        attributes: attributes.as_ptr(),
        count: attributes.len() as c_uint,
    };
    let parameters: Vec<_> = arguments
        .iter()
        .map(|argument| (**argument).pointer())
        .collect();
    cu!(cuLaunchKernelEx(
        &config => *const Config,
        function => Handle,
        parameters.as_ptr() => *const *const c_void,
        std::ptr::null() => *const *const c_void,
    ))
}
