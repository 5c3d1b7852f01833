//! Kernels with something that is not implemented: the module loads, its log says which, and only their launch fails.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};

use crate::driver_support::*;
use software_gpu::driver::{entry_point, last_refusal};

/// Three of six kernels cannot be executed: by an instruction, by an operand, and by what a function does.
const MODULE: &str = "
.version 8.0
.target sm_90
.address_size 64
.func helper() { .reg .b32 %r<3>; tensor.unknown.b32 %r1, %r2; ret; }
.func unused() { .reg .b32 %r<3>; tensor.unknown.b32 %r1, %r2; ret; }
.visible .entry good(.param .u64 out) {
    .reg .b64 %rd<2>; ld.param.u64 %rd0, [out]; st.global.u32 [%rd0], 42; ret;
}
.visible .entry by_instruction(.param .u64 out, .param .u32 n) {
    .reg .b32 %r<3>;
    tensor.unknown.b32 %r1, %r2; ret;
}
.visible .entry by_operand(.param .u64 out) {
    .reg .b32 %r<5>; .reg .b64 %rd<3>;
    { tex.2dms.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%rd1, {%r3, %r4}]; } ret;
}
.visible .entry by_call(.param .u64 out) { call helper; ret; }
.visible .entry also_good(.param .u64 out) {
    .reg .b64 %rd<2>; ld.param.u64 %rd0, [out]; st.global.u32 [%rd0], 43; ret;
}
.visible .entry bounded(.param .u64 out) .maxntid 64 { ret; }
";

const REFUSED: [(&str, &str); 3] = [
    ("by_instruction", "PTX line 12 (by_instruction)"),
    ("by_operand", "PTX line 16 (by_operand)"),
    ("by_call", "PTX line 5 (helper)"),
];

#[test]
fn only_the_launch_of_such_a_kernel_fails() {
    let driver = Driver::new();
    let module = driver.module(MODULE).unwrap();
    let (out, host) = (driver.allocate(4).unwrap(), driver.pinned(4));
    for (name, place) in REFUSED {
        let function = driver.function(module, name).unwrap();
        let arguments: [&dyn LaunchArgument; 2] = [&out, &1_u32];
        let launched = driver.launch(function, 1, 1, 0, &arguments);
        assert_eq!(launched, Err(NOT_SUPPORTED), "{name}");
        let refusal = last_refusal().unwrap();
        let start = format!("kernel `{name}` cannot be launched: {place}: unsupported");
        assert!(refusal.starts_with(&start), "{refusal}");
    }
    for (name, value) in [("good", 42), ("also_good", 43)] {
        let function = driver.function(module, name).unwrap();
        driver.launch(function, 1, 1, 0, &[&out]).unwrap();
        driver.to_host(host.pointer(), out, 4, 0).unwrap();
        driver.stream_synchronize(0).unwrap();
        assert_eq!(host.byte(0), value);
    }
}

/// A library is loaded, too, and its other kernels run.
#[test]
fn only_the_launch_of_such_a_kernel_of_a_library_fails() {
    let driver = Driver::new();
    let (text, mut library) = (CString::new(MODULE).unwrap(), 0);
    let none = std::ptr::null::<c_void>();
    cu!(cuLibraryLoadData(
        &mut library => *mut Handle, text.as_ptr() => *const c_char, none => *const c_void, none => *const c_void,
        0 => c_uint, none => *const c_void, none => *const c_void, 0 => c_uint,
    ))
    .unwrap();
    let out = driver.allocate(4).unwrap();
    for (name, expected) in [(c"good", Ok(())), (c"by_operand", Err(NOT_SUPPORTED))] {
        let mut kernel = 0;
        cu!(cuLibraryGetKernel(&mut kernel => *mut Handle, library => Handle, name.as_ptr() => *const c_char)).unwrap();
        assert_eq!(
            driver.launch(kernel, 1, 1, 0, &[&out]),
            expected,
            "{name:?}"
        );
    }
    driver.synchronize().unwrap();
    cu!(cuLibraryUnload(library => Handle)).unwrap();
}

/// The info log has a line for each; the error log is empty.
#[test]
fn the_log_of_the_load_names_them() {
    let _driver = Driver::new();
    let text = CString::new(MODULE).unwrap();
    let (mut module, mut info, mut error) = (0, [0_u8; 2000], [0x55_u8; 100]);
    let options: [c_uint; 4] = [3, 4, 5, 6];
    let mut values: [*mut c_void; 4] = [
        info.as_mut_ptr().cast(),
        std::ptr::without_provenance_mut(info.len()),
        error.as_mut_ptr().cast(),
        std::ptr::without_provenance_mut(error.len()),
    ];
    cu!(cuModuleLoadDataEx(
        &mut module => *mut Handle,
        text.as_ptr() => *const c_char,
        4 => c_uint,
        options.as_ptr() => *const c_uint,
        values.as_mut_ptr() => *mut *mut c_void,
    ))
    .unwrap();
    let log = std::str::from_utf8(&info[..values[1].addr()]).unwrap();
    assert_eq!(log.lines().count(), REFUSED.len(), "{log}");
    for (line, (name, place)) in log.lines().zip(REFUSED) {
        assert!(line.contains(name) && line.contains(place), "{line}");
    }
    assert_eq!(error[0], 0);
}

/// Registers and shared memory are not known of such a kernel, its parameters are.
#[test]
fn what_follows_from_code_is_not_guessed() {
    let driver = Driver::new();
    let function = driver.kernel(MODULE, "by_instruction");
    let attribute = |attribute: c_uint| {
        let mut value = 0;
        cu!(cuFuncGetAttribute(&mut value => *mut c_int, attribute => c_uint, function => Handle))
            .map(|()| value)
    };
    for of_code in [0, 1, 3, 4, 8] {
        assert_eq!(attribute(of_code), Err(NOT_SUPPORTED), "{of_code}");
    }
    assert_eq!(attribute(5), Ok(90));
    let (mut offset, mut bytes, mut blocks) = (0_usize, 0_usize, 0);
    cu!(cuFuncGetParamInfo(
        function => Handle, 1 => usize, &mut offset => *mut usize, &mut bytes => *mut usize
    ))
    .unwrap();
    assert_eq!((offset, bytes), (8, 4));
    let occupancy = cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &mut blocks => *mut c_int, function => Handle, 32 => c_int, 0 => usize
    ));
    assert_eq!(occupancy, Err(NOT_SUPPORTED));
}

/// What `ptxas` refuses, too, refuses the whole module.
#[test]
fn a_syntax_error_refuses_the_module() {
    let driver = Driver::new();
    let broken = MODULE.replace("st.global.u32 [%rd0], 43;", "st.global.u32 [%rd0], ;");
    assert_eq!(driver.module(&broken), Err(218));
    let unclosed = MODULE.replace("[%rd1, {%r3, %r4}]; }", "[%rd1, {%r3, %r4}];");
    assert_eq!(driver.module(&unclosed), Err(218));
}

/// With types, directives and operands that are not known here, too.
#[test]
fn an_unknown_instruction_refuses_one_kernel() {
    let driver = Driver::new();
    let registers = ".reg .b32 %r<6>; .reg .b64 %y<4>; .reg .f32 %f<4>; .reg .b16 %h;";
    for (directive, instruction) in [
        ("", "cvt.rn.satfinite.e2m3x2.f32 %h, %f1, %f2;"),
        ("", "cvt.rn.bf16x2.ue8m0x2 %r1, %h;"),
        ("", "max.f32 %f0, %f1, %f2, %f3;"),
        ("", "fma.rn.f32x2 %y0, %y1, %y2, %y3;"),
        ("", "add.s64x2 %y0, %y1, %y2;"),
        ("", "st.bulk.weak.shared::cta [%r1], 64, 0;"),
        ("", "vadd.s32.u32.s32.sat %r1, %r2.b0, %r3.h1;"),
        (".blocksareclusters .reqntid 32 .reqnctapercluster 2", ""),
    ] {
        let text = format!(
            "{MODULE} .visible .entry last(.param .u64 out) {directive} {{ {registers} {instruction} ret; }}"
        );
        let case = format!("{directive}{instruction}");
        let module = driver.module(&text).expect(&case);
        let function = driver.function(module, "last").unwrap();
        let launched = driver.launch(function, 1, 32, 0, &[&0_u64]);
        assert_eq!(launched, Err(NOT_SUPPORTED), "{case}");
    }
}
