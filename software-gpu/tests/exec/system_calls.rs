//! Indirect calls, and the functions that the driver defines.

use crate::exec_support::{ParameterBytes, TestDevice, launch, load};
use software_gpu::exec::Fault;

/// Two functions by their addresses: threads of a warp take both, in any order, and come together again.
const INDIRECT: &str = ".version 6.0\n.target sm_70\n.address_size 64
    .func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %x; ld.param.b32 %x, [x]; add.s32 %x, %x, %x;
        st.param.b32 [r], %x; ret; }
    .func (.param .b32 r) square(.param .b32 x) { .reg .b32 %x; ld.param.b32 %x, [x]; mul.lo.s32 %x, %x, %x;
        st.param.b32 [r], %x; ret; }
    .visible .entry test(.param .u64 out, .param .u64 wrong) { .reg .b64 %f, %g, %out, %at; .reg .b32 %t, %odd, %y; .reg .pred %p;
        ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; and.b32 %odd, %t, 1; setp.eq.u32 %p, %odd, 0;
        mov.b64 %f, twice; mov.b64 %g, square; selp.b64 %f, %f, %g, %p;
        ld.param.u64 %g, [wrong]; add.s64 %f, %f, %g;
        { .param .b32 x; .param .b32 r; st.param.b32 [x], %t;
        prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _);
        call (r), %f, (x), prototype_0;
        ld.param.b32 %y, [r]; }
        bar.warp.sync -1; mul.wide.u32 %at, %t, 4; add.s64 %at, %at, %out; st.global.u32 [%at], %y; ret; }";

#[test]
fn threads_of_a_warp_call_different_functions_by_address() {
    let module = load(INDIRECT).expect("is understood");
    let mut device = TestDevice::new();
    let out = device.upload(&[0_u32; 64]);
    let parameters = ParameterBytes::default().with(out).with(0_u64);
    device
        .run(&module, "test", launch(1, 64), &parameters)
        .expect("runs");
    let expected: Vec<u32> = (0..64)
        .map(|i| if i % 2 == 0 { 2 * i } else { i * i })
        .collect();
    assert_eq!(device.download::<u32>(out, 64), expected);
}

#[test]
fn a_call_of_no_function_is_an_illegal_instruction() {
    let module = load(INDIRECT).expect("is understood");
    let mut device = TestDevice::new();
    let out = device.upload(&[0_u32; 64]);
    let parameters = ParameterBytes::default().with(out).with(4_u64);
    let fault = device
        .run(&module, "test", launch(1, 64), &parameters)
        .expect_err("fails");
    let message = fault.to_string();
    assert!(
        matches!(fault, Fault::IllegalInstruction { .. }),
        "{message}"
    );
    assert!(message.contains("where no function is"), "{message}");
}

#[test]
fn what_nothing_defines_is_refused_by_name() {
    let module = |function: &str| {
        format!(
            ".version 6.0\n.target sm_70\n.address_size 64\n.extern .func {function}(.param .b64 x);
            .visible .entry test() {{ {{ .param .b64 x; call {function}, (x); }} ret; }}"
        )
    };
    for (function, reason) in [
        (
            "cudaDeviceSynchronize",
            "function `cudaDeviceSynchronize` is not defined",
        ),
        ("malloc", "`malloc` takes other arguments"),
        ("free", "has no heap"),
    ] {
        let error = load(&module(function)).err().expect(function).to_string();
        assert!(error.contains(reason), "{error}");
    }
}
