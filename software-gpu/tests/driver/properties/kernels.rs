//! Kernels that store a byte to eight, before or after they wait for the kernel before them, or before they count.

use crate::driver_support::attributes::{attribute, launch_with};
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

/// Launches a kernel, with programmatic stream serialization or without.
pub fn launch(function: Handle, stream: Handle, out: Address, value: u8, programmatic: bool) {
    let attributes = [attribute(6, &[u64::from(programmatic)])];
    let value = u64::from_ne_bytes([value; 8]);
    launch_with(function, [1, 1, 0], stream, &attributes, &[&out, &value])
        .expect("cuLaunchKernelEx");
}
