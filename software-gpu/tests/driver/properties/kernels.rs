//! Kernels that store a byte to eight, before or after they wait for the kernel before them, or before they count.

use std::ffi::{c_uint, c_void};

use software_gpu::driver::entry_point;

use crate::driver_support::*;

/// When a kernel stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    Never,
    BeforeTheStore,
    AfterTheStore,
}

pub const PTX: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry never(.param .u64 out, .param .u64 value)
{
    .reg .b64 %rd<2>; ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [value];
    st.global.u64 [%rd0], %rd1; ret;
}
.visible .entry before(.param .u64 out, .param .u64 value)
{
    .reg .b64 %rd<2>; ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [value];
    griddepcontrol.wait;
    st.global.u64 [%rd0], %rd1; ret;
}
.visible .entry after(.param .u64 out, .param .u64 value)
{
    .reg .b64 %rd<2>; ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [value];
    st.global.u64 [%rd0], %rd1;
    griddepcontrol.wait;
    ret;
}
.visible .entry count(.param .u64 out, .param .u64 value, .param .u64 counter)
{
    .reg .b64 %rd<3>; ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [value]; ld.param.u64 %rd2, [counter];
    st.global.u64 [%rd0], %rd1;
    red.release.sys.global.add.u32 [%rd2], 1;
    ret;
}";

#[repr(C, align(8))]
struct Attribute {
    id: c_uint,
    padding: u32,
    value: [u64; 8],
}

#[repr(C)]
struct Config {
    extents: [c_uint; 7],
    stream: Handle,
    attributes: *const Attribute,
    count: c_uint,
}

/// Launches a kernel, with programmatic stream serialization or without.
pub fn launch(function: Handle, stream: Handle, out: Address, value: u8, programmatic: bool) {
    let attribute = Attribute {
        id: 6,
        padding: 0,
        value: [u64::from(programmatic), 0, 0, 0, 0, 0, 0, 0],
    };
    let config = Config {
        extents: [1, 1, 1, 1, 1, 1, 0],
        stream,
        attributes: &raw const attribute,
        count: 1,
    };
    let value = u64::from_ne_bytes([value; 8]);
    let parameters = [
        std::ptr::from_ref(&out).cast::<c_void>(),
        std::ptr::from_ref(&value).cast(),
    ];
    cu!(cuLaunchKernelEx(
        &config => *const Config,
        function => Handle,
        parameters.as_ptr() => *const *const c_void,
        std::ptr::null() => *const *const c_void,
    ))
    .expect("cuLaunchKernelEx");
}
