//! What text is PTX, and what a fat binary gives: forms that are rare in compilers' output.

use std::ffi::c_void;

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{Scene, c_string};
use crate::{cu, holds, ok, rule, same};

const FAMILY: &str = "ptx";

/// The rules of this family.
pub const RULES: &[Rule] = &[
    rule!(
        an_array_element_is_an_address,
        "PTX ISA, Arrays as Operands",
        "An index counts elements of the array's type."
    ),
    rule!(
        an_element_is_loaded_without_brackets,
        "PTX ISA, Arrays as Operands",
        "A load and a store take an array element as their address."
    ),
    rule!(
        registers_form_vectors,
        "PTX ISA, Vectors",
        "A vector of registers has components, and is read and written as a whole."
    ),
    rule!(
        kernels_are_declared,
        "PTX ISA, .entry",
        "A kernel may be declared before it is defined."
    ),
    rule!(
        contradictory_declaration_is_refused,
        "PTX ISA, .entry",
        "A kernel with other parameters than its declaration is refused."
    ),
    rule!(
        local_memory_has_no_atomics,
        "PTX ISA, atom",
        "An atomic operation on local memory is refused when the module is loaded."
    ),
    rule!(
        small_floats_are_rounded_to_nearest,
        "PTX ISA, cvt",
        "cvt.rn.satfinite to e4m3x2 and e5m2x2 rounds to nearest even and stops at the largest number."
    ),
    rule!(
        small_floats_are_widened,
        "PTX ISA, cvt",
        "e4m3x2 and e5m2x2 become f16x2 exactly; a NaN becomes 0x7fff."
    ),
    rule!(
        ptx_is_found_in_a_fat_binary,
        "cuModuleLoadData",
        "A fat binary with PTX for several architectures is a module image, compressed or not."
    ),
    rule!(
        fat_binary_is_loaded_by_its_own_function,
        "cuModuleLoadFatBinary",
        "A fat binary is loaded by cuModuleLoadFatBinary, too."
    ),
    rule!(
        option_bounds_registers,
        "CU_JIT_MAX_REGISTERS",
        "A kernel loaded with a bound on registers has no more."
    ),
    rule!(
        directive_bounds_registers,
        "PTX ISA, .maxnreg",
        "A kernel with .maxnreg has no more registers."
    ),
    rule!(
        parameters_are_no_constant_memory,
        "CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES",
        "A kernel of a module without constant variables needs no constant memory, whatever its parameters."
    ),
];

const HEADER: &str = ".version 7.8\n.target sm_75\n.address_size 64\n";

/// What a kernel with this body stores in the word `%out`.
fn result(scene: &mut Scene, target: &str, declarations: &str, body: &str) -> Outcome<u32> {
    let header = HEADER.replace("sm_75", target);
    let text = format!(
        "{header}{declarations}\n.visible .entry k(.param .u64 out) {{
        .reg .b64 %out, %rd<8>; .reg .b32 %r<8>; .reg .b16 %h<4>; .reg .f32 %f<4>;
        ld.param.u64 %out, [out];\n{body}\nst.global.u32 [%out], %r0; ret; }}\n"
    );
    let module = scene.load(&text)?;
    let (function, word) = (scene.kernel_of(module, "k")?, scene.device(4)?);
    same!(scene.try_launch(function, 0, &[&word]), SUCCESS);
    scene.word(word)
}

fn code_of_load(text: &str) -> Code {
    let (text, mut module) = (c_string(text), 0);
    cu!(cuModuleLoadData(&mut module, text.as_ptr().cast()))
}

const ARRAYS: &str = ".shared .u32 words[8]; .shared .u64 wide[4]; .shared .u32 table[2][3];";

fn an_array_element_is_an_address(scene: &mut Scene) -> Outcome {
    for (first, second, bytes) in [
        ("words[3]", "words", 12),
        ("wide[2]", "wide", 16),
        ("table[1]", "table", 4),
        ("words[%r7+1]", "words", 24),
    ] {
        let body = format!(
            "mov.u32 %r7, 5; mov.u32 %r1, {first}; mov.u32 %r2, {second}; sub.u32 %r0, %r1, %r2;"
        );
        same!(result(scene, "sm_75", ARRAYS, &body)?, bytes);
    }
    Ok(())
}

fn an_element_is_loaded_without_brackets(scene: &mut Scene) -> Outcome {
    let body =
        "st.shared.u32 words[3], 71; ld.shared.u32 %r1, [words+12]; st.shared.u32 [words+16], %r1;
        ld.shared.u32 %r0, words[4];";
    same!(result(scene, "sm_75", ARRAYS, body)?, 71);
    Ok(())
}

fn registers_form_vectors(scene: &mut Scene) -> Outcome {
    let shared = ".shared .align 16 .u32 words[8];";
    let body = ".reg .v2 .b32 %v; .reg .v4 .u32 %q<3>;
        mov.b64 %rd1, {3, 5}; mov.b64 %v, %rd1; add.u32 %v.x, %v.y, 3; st.shared.v2.u32 [words], %v;
        st.shared.v2.u32 [words+8], {1, 2}; ld.shared.v4.u32 %q2, [words]; mad.lo.u32 %r0, %q2.r, 10, %q2.w;";
    same!(result(scene, "sm_75", shared, body)?, 82);
    Ok(())
}

fn kernels_are_declared(_: &mut Scene) -> Outcome {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 x);\n.visible .entry k(.param .u64 x)\n{{\nret;\n}}\n"
    );
    same!(code_of_load(&text), SUCCESS);
    Ok(())
}

fn contradictory_declaration_is_refused(_: &mut Scene) -> Outcome {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u32 x);\n.visible .entry k(.param .u64 x)\n{{\nret;\n}}\n"
    );
    same!(code_of_load(&text), INVALID_PTX);
    Ok(())
}

fn local_memory_has_no_atomics(_: &mut Scene) -> Outcome {
    let text = format!(
        "{HEADER}.visible .entry k() {{ .local .u32 own; .reg .b32 %r; atom.local.add.u32 %r, [own], 1; ret; }}\n"
    );
    same!(code_of_load(&text), INVALID_PTX);
    Ok(())
}

/// Since sm_89 there are formats of 8 bits.
fn has_small_floats(scene: &Scene) -> Outcome {
    const MAJOR: u32 = 75;
    const MINOR: u32 = 76;
    let capability = scene.attribute(MAJOR)? * 10 + scene.attribute(MINOR)?;
    match capability >= 89 {
        true => Ok(()),
        false => Err(crate::rule::Failure::skipped(
            "the device has no 8-bit formats",
        )),
    }
}

fn small_floats_are_rounded_to_nearest(scene: &mut Scene) -> Outcome {
    has_small_floats(scene)?;
    for (high, low, e4m3, e5m2) in [
        (0x3fc0_0000_u32, 0xc396_0000_u32, 0x3cf9, 0x3edd),
        (0x7f80_0000, 0x7fc0_0000, 0x7e7f, 0x7b7f),
        (0xff80_0000, 0x8000_0000, 0xfe80, 0xfb80),
        (0x3b00_0000, 0x3a80_0000, 0x0100, 0x1814),
        (0x4420_0000, 0x3f88_0000, 0x7e38, 0x613c),
    ] {
        for (format, expected) in [("e4m3x2", e4m3), ("e5m2x2", e5m2)] {
            let body = format!(
                "mov.b32 %f0, {high:#x}; mov.b32 %f1, {low:#x}; cvt.rn.satfinite.{format}.f32 %h0, %f0, %f1;
                cvt.u32.u16 %r0, %h0;"
            );
            same!(result(scene, "sm_89", "", &body)?, expected);
        }
    }
    Ok(())
}

fn small_floats_are_widened(scene: &mut Scene) -> Outcome {
    has_small_floats(scene)?;
    for (format, pair, expected) in [
        ("e4m3x2", 0x3cb8_u32, 0x3e00_bc00),
        ("e4m3x2", 0x7f01, 0x7fff_1800),
        ("e5m2x2", 0x7cbc, 0x7c00_bc00),
        ("e5m2x2", 0xff81, 0x7fff_8100),
    ] {
        let body = format!("mov.b16 %h0, {pair:#x}; cvt.rn.f16x2.{format} %r0, %h0;");
        same!(result(scene, "sm_89", "", &body)?, expected);
    }
    Ok(())
}

/// Their kernel adds the architecture that it was compiled for.
const FAT_BINARIES: [&[u8]; 3] = [
    include_bytes!("../../../../software-gpu/tests/images/plain.fatbin"),
    include_bytes!("../../../../software-gpu/tests/images/lz4.fatbin"),
    include_bytes!("../../../../software-gpu/tests/images/zstandard.fatbin"),
];

fn added(scene: &mut Scene, module: Handle) -> Outcome<u32> {
    let (function, word) = (scene.kernel_of(module, "add")?, scene.device(4)?);
    ok!(cuMemsetD32_v2(word, 0, 1));
    same!(scene.try_launch(function, 0, &[&word]), SUCCESS);
    scene.word(word)
}

fn ptx_is_found_in_a_fat_binary(scene: &mut Scene) -> Outcome {
    for image in FAT_BINARIES {
        let module: Handle = out(|module| cu!(cuModuleLoadData(module, image.as_ptr().cast())))?;
        holds!(added(scene, module)? >= 80);
    }
    Ok(())
}

fn fat_binary_is_loaded_by_its_own_function(scene: &mut Scene) -> Outcome {
    let image = FAT_BINARIES[0].as_ptr().cast();
    let module: Handle = out(|module| cu!(cuModuleLoadFatBinary(module, image)))?;
    same!(added(scene, module)?, 80);
    Ok(())
}

/// A kernel that holds 90 values at once.
fn greedy(directives: &str) -> String {
    let each = |text: &dyn Fn(u32) -> String| (0..90).map(text).collect::<String>();
    format!(
        "{HEADER}.visible .entry k(.param .u64 out){directives} {{ .reg .b32 %r<90>; .reg .b64 %rd; ld.param.u64 %rd, [out];\n{}{} ret; }}\n",
        each(&|n| format!("ld.volatile.global.u32 %r{n}, [%rd+{}];\n", 4 * n)),
        each(&|n| format!("st.volatile.global.u32 [%rd+{}], %r{n};\n", 4 * (90 - n))),
    )
}

/// `CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES` and `CU_FUNC_ATTRIBUTE_NUM_REGS`.
const CONST_SIZE_BYTES: u32 = 2;
const NUM_REGS: u32 = 4;

fn attribute_of_k(scene: &Scene, module: Handle, attribute: u32) -> Outcome<i32> {
    let function = scene.kernel_of(module, "k")?;
    out(|value| cu!(cuFuncGetAttribute(value, attribute, function)))
}

fn option_bounds_registers(scene: &mut Scene) -> Outcome {
    /// `CU_JIT_MAX_REGISTERS`.
    const MAX_REGISTERS: u32 = 0;
    let free = scene.load(&greedy(""))?;
    holds!(attribute_of_k(scene, free, NUM_REGS)? > 64);
    let text = c_string(&greedy(""));
    let mut bound: *mut c_void = std::ptr::without_provenance_mut(40);
    let mut option = MAX_REGISTERS;
    let module: Handle = out(|module| {
        cu!(cuModuleLoadDataEx(
            module,
            text.as_ptr().cast(),
            1,
            &mut option,
            &mut bound
        ))
    })?;
    holds!(attribute_of_k(scene, module, NUM_REGS)? <= 40);
    Ok(())
}

fn directive_bounds_registers(scene: &mut Scene) -> Outcome {
    let module = scene.load(&greedy(" .maxnreg 40"))?;
    holds!(attribute_of_k(scene, module, NUM_REGS)? <= 40);
    let module = scene.load(&greedy(" .maxntid 1024"))?;
    holds!(attribute_of_k(scene, module, NUM_REGS)? <= 64);
    Ok(())
}

fn parameters_are_no_constant_memory(scene: &mut Scene) -> Outcome {
    let module = scene.load(&greedy(""))?;
    same!(attribute_of_k(scene, module, CONST_SIZE_BYTES)?, 0);
    Ok(())
}
