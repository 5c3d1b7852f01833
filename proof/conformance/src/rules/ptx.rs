//! What text is PTX, and what a fat binary gives: forms that are rare in compilers' output.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::api::*;
use crate::rule::{Failure, Outcome, Rule, out};
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
        numbers_become_tf32,
        "PTX ISA, cvt",
        "cvt to tf32 rounds to 10 bits of fraction: .rna with ties away from zero, .rn to even, .rz towards zero."
    ),
    rule!(
        matrices_are_multiplied,
        "PTX ISA, mma",
        "mma.m16n8k16 of bf16 multiplies the fragments that the instruction set describes."
    ),
    rule!(
        tiles_are_transposed_on_the_way,
        "PTX ISA, ldmatrix",
        "ldmatrix gives each lane two neighbours of a row; with .trans, of a column."
    ),
    rule!(
        ptx_is_found_in_a_fat_binary,
        "cuModuleLoadData",
        "A fat binary with PTX for several architectures is a module image, compressed or not."
    ),
    rule!(
        fat_binary_is_loaded_from_a_file,
        "cuModuleLoad",
        "A file may hold a fat binary."
    ),
    rule!(
        fat_binary_is_linked,
        "CU_JIT_INPUT_FATBINARY",
        "A fat binary is an input of a link."
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

/// The header for that target. The conversions of 8-bit formats for `sm_89`, and `.satfinite` to `tf32`, came with PTX 8.1.
fn header(target: &str) -> String {
    let header = HEADER.replace("sm_75", target);
    match target {
        "sm_89" | "sm_90" => header.replace("7.8", "8.1"),
        _ => header,
    }
}

/// What a kernel with this body stores in the word `%out`.
fn result(scene: &mut Scene, target: &str, declarations: &str, body: &str) -> Outcome<u32> {
    let header = header(target);
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

/// Skips a rule on devices before the one that brought what it is about.
fn needs(scene: &Scene, capability: i32, what: &'static str) -> Outcome {
    const MAJOR: u32 = 75;
    const MINOR: u32 = 76;
    match scene.attribute(MAJOR)? * 10 + scene.attribute(MINOR)? >= capability {
        true => Ok(()),
        false => Err(Failure::device(what)),
    }
}

fn has_small_floats(scene: &Scene) -> Outcome {
    needs(scene, 89, "the device has no 8-bit formats")
}

/// What each lane of a warp stores that runs this body: `%r0` to `%r3`.
fn warp(scene: &mut Scene, declarations: &str, body: &str) -> Outcome<Vec<u32>> {
    let header = header("sm_80");
    let text = format!(
        "{header}{declarations}\n.visible .entry k(.param .u64 out) {{
        .reg .b64 %out, %rd; .reg .b32 %l, %g, %t, %r<8>; .reg .f32 %f<4>; .reg .pred %p;
        ld.param.u64 %out, [out]; mov.u32 %l, %laneid; mul.wide.u32 %rd, %l, 16; add.u64 %out, %out, %rd;
        shr.u32 %g, %l, 2; and.b32 %t, %l, 3;\n{body}\nst.global.v4.b32 [%out], {{%r0, %r1, %r2, %r3}}; ret; }}\n"
    );
    let module = scene.load(&text)?;
    let (function, out) = (scene.kernel_of(module, "k")?, scene.device(512)?);
    let code = scene.try_shaped(function, [1; 3], [32, 1, 1], 0, 0, &[&out]);
    same!(code, SUCCESS);
    let bytes = scene.bytes(out, 512)?;
    let word = |word: &[u8]| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
    Ok(bytes.chunks_exact(4).map(word).collect())
}

/// A is the identity, so the sums are the elements of B, and one more.
fn matrices_are_multiplied(scene: &mut Scene) -> Outcome {
    needs(scene, 80, "the device does not multiply bf16")?;
    // Lane 4 g + t has columns 2 t and 2 t + 1 of rows g and g + 8 of A, and of column g of B rows 2 t and 2 t + 1. The
    // element of row k and column n of B is 8 k + n.
    let identity = "shl.b32 %r4, %t, 1; sub.u32 %r5, %g, %r4; mov.b32 %r0, 0; mov.b32 %r1, 0;
        setp.eq.u32 %p, %r5, 0; @%p mov.b32 %r0, 0x00003f80; setp.eq.u32 %p, %r5, 1; @%p mov.b32 %r0, 0x3f800000;";
    let elements = |register: &str, k: u32| {
        format!(
            "add.u32 %r6, %r4, {k}; mad.lo.u32 %r6, %r6, 8, %g; cvt.rn.f32.u32 %f0, %r6;
            add.u32 %r6, %r6, 8; cvt.rn.f32.u32 %f1, %r6; cvt.rn.bf16x2.f32 {register}, %f1, %f0;"
        )
    };
    let body = format!(
        "{identity} {} {}
        mov.f32 %f0, 0f3F800000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
        mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
            {{%f0, %f1, %f2, %f3}}, {{%r0, %r1, %r1, %r0}}, {{%r2, %r3}}, {{%f0, %f1, %f2, %f3}};
        mov.b32 %r0, %f0; mov.b32 %r1, %f1; mov.b32 %r2, %f2; mov.b32 %r3, %f3;",
        elements("%r2", 0),
        elements("%r3", 8),
    );
    for (index, word) in warp(scene, "", &body)?.into_iter().enumerate() {
        let (lane, i) = (index as u32 / 4, index as u32 % 4);
        let (row, column) = (lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
        same!(f32::from_bits(word), (8 * row + column) as f32 + 1.0);
    }
    Ok(())
}

fn tiles_are_transposed_on_the_way(scene: &mut Scene) -> Outcome {
    needs(scene, 80, "the device is older than the rule's module")?;
    // Word w of the tile holds its elements 2 w and 2 w + 1, which are their own numbers.
    let body = "mov.u32 %r4, tile; mad.lo.u32 %r5, %l, 4, %r4; mul.lo.u32 %r6, %l, 0x00020002;
        add.u32 %r6, %r6, 0x00010000; st.shared.b32 [%r5], %r6; bar.sync 0;
        and.b32 %r5, %l, 7; mad.lo.u32 %r5, %r5, 16, %r4; mov.b32 %r2, 0; mov.b32 %r3, 0;
        ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r5];
        ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r1}, [%r5];";
    let words = warp(scene, ".shared .align 16 .b8 tile[128];", body)?;
    for (lane, words) in words.chunks_exact(4).enumerate() {
        let (g, t) = (lane as u32 / 4, lane as u32 % 4);
        let pair = |first: u32, second: u32| first | second << 16;
        same!(words[0], pair(8 * g + 2 * t, 8 * g + 2 * t + 1));
        same!(words[1], pair(16 * t + g, 16 * t + 8 + g));
    }
    Ok(())
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

fn numbers_become_tf32(scene: &mut Scene) -> Outcome {
    needs(scene, 90, "the device does not round to even")?;
    for (rounding, number, expected) in [
        ("rna", 0x3f80_1000_u32, 0x3f80_2000),
        ("rna", 0xbf80_0fff, 0xbf80_0000),
        ("rn", 0x3f80_1000, 0x3f80_0000),
        ("rn", 0xbf80_3000, 0xbf80_4000),
        ("rn", 0x3fff_f001, 0x4000_0000),
        ("rz", 0x3f80_1fff, 0x3f80_0000),
        ("rna.satfinite", 0xff80_0000, 0xff7f_e000),
        ("rn.relu", 0xbf80_0000, 0),
    ] {
        let body = format!("mov.b32 %f0, {number:#x}; cvt.{rounding}.tf32.f32 %r0, %f0;");
        same!(result(scene, "sm_90", "", &body)?, expected);
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
    /// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR`.
    const MAJOR: u32 = 75;
    let newest = if scene.attribute(MAJOR)? >= 9 { 90 } else { 80 };
    for (image, expected) in FAT_BINARIES.into_iter().zip([80, 80, newest]) {
        let module: Handle = out(|module| cu!(cuModuleLoadData(module, image.as_ptr().cast())))?;
        same!(added(scene, module)?, expected);
    }
    Ok(())
}

fn fat_binary_is_loaded_from_a_file(scene: &mut Scene) -> Outcome {
    let path = std::env::temp_dir().join(format!("conformance-{}.fatbin", std::process::id()));
    holds!(std::fs::write(&path, FAT_BINARIES[0]).is_ok());
    let (name, mut module) = (c_string(&path.to_string_lossy()), 0);
    let code = cu!(cuModuleLoad(&mut module, name.as_ptr()));
    holds!(std::fs::remove_file(&path).is_ok());
    same!(code, SUCCESS);
    same!(added(scene, module)?, 80);
    Ok(())
}

fn fat_binary_is_linked(scene: &mut Scene) -> Outcome {
    /// `CU_JIT_INPUT_FATBINARY`.
    const INPUT_FATBINARY: u32 = 2;
    let (binary, none) = (FAT_BINARIES[0], null_mut());
    let state: Handle = out(|state| cu!(cuLinkCreate_v2(0, null_mut(), null_mut(), state)))?;
    ok!(cuLinkAddData_v2(
        state,
        INPUT_FATBINARY,
        binary.as_ptr().cast_mut().cast(),
        binary.len(),
        c"add".as_ptr(),
        0,
        null_mut(),
        null_mut()
    ));
    let (mut image, mut bytes) = (none, 0);
    ok!(cuLinkComplete(state, &mut image, &mut bytes));
    let module: Handle = out(|module| cu!(cuModuleLoadData(module, image)))?;
    ok!(cuLinkDestroy(state));
    same!(added(scene, module)?, 80);
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
