//! Operands: elements of arrays, vectors of registers, and vectors of one element. Each text was given to `ptxas` 13.0,
//! which takes and refuses what these tests say, and whose machine code has the same addresses.

use crate::exec_support::{ParameterBytes, TestDevice, kernel, latencies, launch, load, run};
use software_gpu::exec::Executable;
use software_gpu::ptx::{PtxErrorKind, parse};

/// What one thread stores that runs `body` with these inputs.
fn one(declarations: &str, body: &str, input: u32) -> u32 {
    run(declarations, body, 1, &[input]).unwrap()[0]
}

const ARRAYS: &str = ".shared .u32 words[8]; .shared .u64 wide[4]; .shared .u32 table[2][3];";

#[test]
fn an_index_counts_elements() {
    for (body, expected) in [
        ("mov.u32 %r2, words[3]; mov.u32 %r3, words;", 12),
        ("mov.u32 %r2, words[1+2]; mov.u32 %r3, words;", 12),
        ("mov.u32 %r2, wide[1]; mov.u32 %r3, wide;", 8),
        ("mov.u32 %r2, table[1]; mov.u32 %r3, table;", 4),
        ("mov.u32 %r2, words; mov.u32 %r3, words[-1];", 4),
        (
            "mov.u64 %rd1, wide[3]; cvt.u32.u64 %r2, %rd1; mov.u32 %r3, wide;",
            24,
        ),
    ] {
        let body = format!("{body} sub.u32 %r4, %r2, %r3; st.global.u32 [%out], %r4;");
        assert_eq!(one(ARRAYS, &body, 0), expected, "{body}");
    }
}

#[test]
fn an_element_is_loaded_and_stored_without_brackets() {
    let body = "st.shared.u32 [words+8], 70; st.shared.u32 words[3], 71; st.shared.u32 [words+16], 72;
        ld.shared.u32 %r2, words[2]; ld.shared.u32 %r3, [words+12]; mov.u32 %r4, 3; ld.shared.u32 %r5, words[%r4+1];
        mad.lo.u32 %r2, %r2, 100, %r3; mad.lo.u32 %r2, %r2, 100, %r5; st.global.u32 [%out], %r2;";
    assert_eq!(one(ARRAYS, body, 0), 707_172);
}

/// An index of 32 bits is scaled in 32 bits and extended by zeros, one of 64 bits in 64.
#[test]
fn a_register_indexes_an_array() {
    for (body, expected) in [
        ("mov.u32 %r2, words[%r7];", 20),
        ("mov.u32 %r2, words[%r7+2];", 28),
        ("mov.u32 %r2, words[%r7+-1];", 16),
        ("mov.u64 %rd1, wide[%r7]; cvt.u32.u64 %r2, %rd1;", 40),
        (
            "cvt.u64.u32 %rd2, %r7; mov.u64 %rd1, words[%rd2]; cvt.u32.u64 %r2, %rd1;",
            20,
        ),
        (
            ".reg .u16 %h; cvt.u16.u32 %h, %r7; mov.u32 %r2, words[%h];",
            20,
        ),
    ] {
        let array = if body.contains("wide") {
            "wide"
        } else {
            "words"
        };
        let body = format!(
            "ld.global.u32 %r7, [%in]; {body} mov.u32 %r3, {array}; sub.u32 %r4, %r2, %r3; st.global.u32 [%out], %r4;"
        );
        assert_eq!(one(ARRAYS, &body, 5), expected, "{body}");
    }
    let high = "ld.global.u32 %r7, [%in]; mov.u64 %rd1, wide[%r7]; mov.u64 %rd2, wide; sub.u64 %rd3, %rd1, %rd2;
        shr.u64 %rd3, %rd3, 32; cvt.u32.u64 %r2, %rd3; st.global.u32 [%out], %r2;";
    assert_eq!(one(ARRAYS, high, u32::MAX), 0);
}

#[test]
fn a_variable_of_the_function_and_a_parameter_are_arrays_too() {
    let body = ".local .u32 own[4]; st.local.u32 own[2], 9; ld.local.u32 %r2, [own+8]; st.global.u32 [%out], %r2;";
    assert_eq!(one("", body, 0), 9);
    let source = ".version 6.0\n.target sm_70\n.address_size 64\n
        .visible .entry test(.param .u64 out, .param .u32 values[3]) {
        .reg .b64 %rd; .reg .b32 %r; ld.param.u64 %rd, [out]; ld.param.u32 %r, values[2]; st.global.u32 [%rd], %r; ret; }";
    let mut device = TestDevice::new();
    let out = device.upload(&[0_u32]);
    let parameters = ParameterBytes::default().with(out).with([5_u32, 6, 7]);
    device
        .run(&load(source).unwrap(), "test", launch(1, 1), &parameters)
        .unwrap();
    assert_eq!(device.download::<u32>(out, 1), [7]);
}

#[test]
fn a_value_that_is_not_an_array_has_no_elements() {
    for body in [
        "mov.u64 %rd1, scalar[1];",
        "add.u32 %r1, %r2, words[1];",
        "ld.shared.u32 %r1, [words[1]];",
        "ld.shared.u32 %r1, [words[1]+4];",
        "atom.shared.add.u32 %r1, words[1], 1;",
        "mov.u32 %r1, words[1][2];",
        "mov.u32 %r1, words[1]+8;",
        "mov.u32 %r1, words[%r2-1];",
        "mov.u32 %r1, words[%f1];",
        "ld.shared.u32 %r1, words;",
    ] {
        let declarations = format!("{ARRAYS} .global .u32 scalar;");
        let error = load(&kernel(&declarations, body)).err().expect(body);
        assert_eq!(error.kind, PtxErrorKind::Syntax, "{body}: {error}");
    }
}

#[test]
fn a_vector_may_have_one_element() {
    let body =
        "st.shared.u32 [words], {%t}; st.shared.u32 [words+4], 8; ld.shared.u32 {%r2}, [words+4];
        mov.b32 %r3, {%r2}; mov.b32 {%r4}, %r3; st.global.u32 [%out], {%r4};";
    assert_eq!(one(ARRAYS, body, 0), 8);
    for body in [
        "mov.u32 %r1, {%r2};",
        "mov.b64 %rd1, {%r2};",
        "ld.shared.u32 {%r1, %r2}, [words];",
    ] {
        assert!(load(&kernel(ARRAYS, body)).is_err(), "{body}");
    }
}

#[test]
fn registers_form_vectors() {
    let body = ".reg .v2 .b32 %v; .reg .v4 .u32 %q<3>; .reg .v2 .b16 %h;
        mov.b64 %rd1, {%t, 5}; mov.b64 %v, %rd1; add.u32 %v.x, %v.y, 3;
        st.shared.v2.u32 [words], %v; ld.shared.v4.u32 %q2, [words];
        mov.b32 %h, 0x00070009; cvt.u32.u16 %r2, %h.g;
        mad.lo.u32 %r2, %r2, 10, %q2.r; mad.lo.u32 %r2, %r2, 10, %q2.y; st.global.u32 [%out], %r2;";
    let shared = ".shared .align 16 .u32 words[8];";
    assert_eq!(one(shared, body, 0), 785);
    for body in [
        ".reg .v2 .pred %q;",
        ".reg .v2 .u32 %v; mov.u32 %r1, %v.z;",
        ".reg .v4 .u64 %v;",
    ] {
        assert!(load(&kernel("", body)).is_err(), "{body}");
    }
}

#[test]
fn variables_are_vectors() {
    let body = "st.shared.v4.u32 [quads+16], {1, 2, 3, 4}; ld.shared.u32 %r2, [quads+28]; st.global.u32 [%out], %r2;";
    assert_eq!(one(".shared .v4 .u32 quads[2];", body, 0), 4);
    let offset = "mov.u32 %r2, quads[1]; mov.u32 %r3, quads; sub.u32 %r2, %r2, %r3; st.global.u32 [%out], %r2;";
    assert_eq!(one(".shared .v4 .u32 quads[2];", offset, 0), 4);
}

/// A module of kernels with these items.
fn module(items: &str) -> String {
    format!(".version 8.0\n.target sm_90\n.address_size 64\n{items}\n")
}

#[test]
fn a_kernel_may_be_declared_before_it_is_defined() {
    const DEFINED: &str = ".visible .entry k(.param .u64 x)\n{\nret;\n}";
    for declaration in [
        ".visible .entry k(.param .u64 x);",
        ".entry k(.param .u64 y);",
        ".visible .entry k(.param .u64 x);\n.visible .entry k(.param .u64 x);",
        ".extern .entry other(.param .u64 x);",
    ] {
        let executable = load(&module(&format!("{declaration}\n{DEFINED}"))).unwrap();
        assert_eq!(executable.kernels().len(), 1, "{declaration}");
    }
    let without = load(&module(".entry k;\n.visible .entry k()\n{\nret;\n}")).unwrap();
    assert_eq!(without.kernels().len(), 1);
    for items in [
        ".visible .entry k(.param .u64 x);",
        &format!(".entry k;\n{DEFINED}"),
        &format!(".visible .entry k(.param .u32 x);\n{DEFINED}"),
        &format!(".extern .entry k(.param .u64 x);\n{DEFINED}"),
        &format!("{DEFINED}\n{DEFINED}"),
        &format!("{DEFINED}\n.visible .entry k(.param .u64 x);"),
    ] {
        let error = load(&module(items)).err().expect(items);
        assert_eq!(error.kind, PtxErrorKind::Syntax, "{items}: {error}");
    }
}

/// `cvt` from and to pairs of 8-bit floating-point numbers, in a thread each.
#[test]
fn pairs_of_8_bit_floats_are_converted() {
    let registers = ".reg .b16 %h; .reg .b16 %g; ld.global.u32 %r2, [%in];";
    for (body, input, expected) in [
        // 1.5 above, -300 below; e4m3 has 288 and 320 beside 300.
        (
            "mov.b32 %f1, 0f3FC00000; mov.b32 %f2, 0fC3960000; cvt.rn.satfinite.e4m3x2.f32 %h, %f1, %f2;",
            0,
            0x3cf9,
        ),
        (
            "mov.b32 %f1, 0f3FC00000; mov.b32 %f2, 0fC3960000; cvt.rn.satfinite.e5m2x2.f32 %h, %f1, %f2;",
            0,
            0x3edd,
        ),
        (
            "mov.b32 %f1, 0f7F800000; mov.b32 %f2, 0f7FC00000; cvt.rn.satfinite.e4m3x2.f32 %h, %f1, %f2;",
            0,
            0x7e7f,
        ),
        (
            "mov.b32 %f1, 0fBF800000; mov.b32 %f2, 0f3F800000; cvt.rn.satfinite.relu.e5m2x2.f32 %h, %f1, %f2;",
            0,
            0x003c,
        ),
        (
            "cvt.rn.satfinite.e4m3x2.f16x2 %h, %r2;",
            0x3e00_bc00,
            0x3cb8,
        ),
        (
            "cvt.rn.satfinite.relu.e5m2x2.f16x2 %h, %r2;",
            0x3e00_bc00,
            0x3e00,
        ),
    ] {
        let body = format!("{registers} {body} cvt.u32.u16 %r3, %h; st.global.u32 [%out], %r3;");
        assert_eq!(one("", &body, input), expected, "{body}");
    }
    for (body, input, expected) in [
        ("cvt.rn.f16x2.e4m3x2 %r3, %h;", 0x3cb8, 0x3e00_bc00),
        ("cvt.rn.f16x2.e5m2x2 %r3, %h;", 0x7cbc, 0x7c00_bc00),
        ("cvt.rn.relu.f16x2.e5m2x2 %r3, %h;", 0x7cbc, 0x7c00_0000),
    ] {
        let body = format!("{registers} cvt.u16.u32 %h, %r2; {body} st.global.u32 [%out], %r3;");
        assert_eq!(one("", &body, input), expected, "{body}");
    }
    for body in [
        "cvt.rn.e4m3x2.f32 %h, %f1, %f2;",
        "cvt.rz.satfinite.e4m3x2.f32 %h, %f1, %f2;",
        "cvt.rn.satfinite.e4m3x2.f32 %r1, %f1, %f2;",
        "cvt.rn.satfinite.e4m3x2.f32 %h, %f1;",
        "cvt.rn.satfinite.e4m3x2.bf16x2 %h, %r1;",
        "cvt.rn.f16x2.e4m3x2 %r1, %r2;",
        "cvt.rn.satfinite.f16x2.e4m3x2 %r1, %h;",
    ] {
        assert!(
            load(&kernel("", &format!("{registers} {body}"))).is_err(),
            "{body}"
        );
    }
}

#[test]
fn numbers_become_tf32() {
    let convert = |modifiers: &str, input: u32| {
        let body = format!(
            "ld.global.f32 %f1, [%in]; cvt.{modifiers}.tf32.f32 %r3, %f1; st.global.u32 [%out], %r3;"
        );
        one("", &body, input)
    };
    for (modifiers, input, expected) in [
        ("rna", 0x3f80_1000, 0x3f80_2000),
        ("rn", 0x3f80_1000, 0x3f80_0000),
        ("rn", 0x3f80_3000, 0x3f80_4000),
        ("rz", 0xbf80_1fff, 0xbf80_0000),
        ("rna", 0xff7f_ffff, 0xff80_0000),
        ("rna.satfinite", 0xff7f_ffff, 0xff7f_e000),
        ("rn.satfinite", 0x7f80_0000, 0x7f7f_e000),
        ("rn.relu", 0xbf80_0000, 0),
        ("rz.relu.satfinite", 0x7f80_0000, 0x7f7f_e000),
    ] {
        assert_eq!(
            convert(modifiers, input),
            expected,
            "{modifiers} {input:#x}"
        );
    }
    for modifiers in ["rna.relu", "rm", "satfinite"] {
        let body = format!("cvt.{modifiers}.tf32.f32 %r1, %f1;");
        assert!(load(&kernel("", &body)).is_err(), "{modifiers}");
    }
}

#[test]
fn arithmetic_has_its_number_of_operands() {
    for (body, count) in [
        ("add.u32 %r1, %r2", 2),
        ("add.f32 %f1, %f2", 2),
        ("abs.f32 %f1", 1),
        ("ex2.approx.f32 %f1", 1),
        ("not.b32 %r1", 1),
        ("fma.rn.f32 %f1, %f2, %f3", 3),
        ("mad.lo.u32 %r1, %r2, %r3", 3),
        ("sad.u32 %r1, %r2, %r3", 3),
        ("max.f32 %f1, %f2", 2),
    ] {
        let register = if body.contains(".f32") {
            ", %f4"
        } else {
            ", %r4"
        };
        for more in 0..3 {
            let given = body.matches('%').count() - 1 + more;
            let text = format!("{body}{};", register.repeat(more));
            assert_eq!(load(&kernel("", &text)).is_ok(), given == count, "{text}");
        }
    }
}

/// Atomics and strong accesses are where other threads may write.
#[test]
fn memory_of_one_thread_has_no_atomics() {
    let variables = ".local .u32 own; .shared .u32 common;";
    for body in [
        "atom.local.add.u32 %r1, [own], 1;",
        "atom.add.u32 %r1, [own], 1;",
        "atom.local.cas.b32 %r1, [own], 1, 2;",
        "red.local.add.u32 [own], 1;",
        "atom.const.add.u32 %r1, [fixed], 1;",
        "atom.add.u32 %r1, [fixed], 1;",
        "atom.param.add.u32 %r1, [n], 1;",
        "ld.volatile.local.u32 %r1, [own];",
        "ld.acquire.gpu.local.u32 %r1, [own];",
        "st.release.gpu.local.u32 [own], 1;",
        "ld.relaxed.gpu.const.u32 %r1, [fixed];",
        "st.const.u32 [fixed], 1;",
    ] {
        let source = kernel(".const .u32 fixed;", &format!("{variables} {body}"));
        let error = Executable::new(&parse(&source).unwrap(), latencies(), &|_| Some(4096)).err();
        let error = error.expect(body);
        assert_eq!(error.kind, PtxErrorKind::Syntax, "{body}: {error}");
    }
    let body = format!(
        "{variables} atom.add.u32 %r1, [common], 1; atom.shared::cta.add.u32 %r1, [common], 1;"
    );
    assert!(load(&kernel("", &body)).is_ok());
}
