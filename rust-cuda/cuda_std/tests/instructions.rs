//! Everything in the crate becomes the PTX instruction that it documents: one kernel per row, compiled as one module.
//! What synchronises and copies is also executed.

mod cases;
mod executed;
// By its path: the committed PTX names the manifest of this crate, so a new dependency would make it stale.
#[allow(dead_code, reason = "other tests lack other things")]
#[path = "../../../tools/left-out/src/lib.rs"]
mod left_out;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use cases::{
    AMPERE, AMPERE_NAMES, BEFORE_HOPPER, BY_VERSION, CASES, HOPPER, HOPPER_ALONE,
    HOPPER_ALONE_NAMES, HOPPER_NAMES,
};
use cuda_builder::{CudaBuilder, NvvmArch, PanicMode, Toolchain};
use left_out::Missing;

fn source(cases: &[(&str, &str)]) -> String {
    let mut source = "#![no_std]\n\
         use cuda_std::atomic::*;\n\
         use cuda_std::atomic::Ordering::*;\n\
         use cuda_std::extensions::*;\n\
         use cuda_std::prelude::*;\n\
         use cuda_std::{GpuFloat, atomic, mem, misc, ptr, shared, shared_array, warp};\n"
        .to_owned();
    for (number, (expression, _)) in cases.iter().enumerate() {
        writeln!(
            source,
            "#[kernel(launch_bounds(128))] #[allow(unused_variables)] \
             pub unsafe fn case_{number}(out: *mut u32, a: u32, f: f32, d: f64, p: *mut u32) {{\n    \
             unsafe {{ *out = {expression} }};\n}}"
        )
        .unwrap();
    }
    source
}

/// A crate with that source, on the versions that this workspace has locked.
fn write_crate(folder: &Path, source: &str) {
    let cuda_std = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("src/lib.rs"), source).unwrap();
    fs::write(
        folder.join("Cargo.toml"),
        format!(
            "[package]\nname = \"cases\"\nedition = \"2024\"\n[workspace]\n\
             [dependencies]\ncuda_std = {{ path = {:?}, default-features = false, features = [\"glam\"] }}\n",
            cuda_std.to_str().unwrap()
        ),
    )
    .unwrap();
    fs::copy(cuda_std.join("../../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
}

/// The PTX of the crate in `folder`.
fn compile(arch: NvvmArch, folder: &Path) -> String {
    let file = folder.join(arch.target_cpu()).with_extension("ptx");
    CudaBuilder::new(folder)
        .arch(arch)
        .fma_contraction(false)
        .panic_mode(PanicMode::Message)
        .generate_line_info(false)
        .copy_to(&file)
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
    fs::read_to_string(file).unwrap()
}

fn check(arch: NvvmArch, folder: &Path, expected: &[(&str, &str)]) {
    let ptx = compile(arch, folder);
    // The driver defines these; without alloc nothing asks for memory.
    for declaration in ptx.lines().filter(|line| line.starts_with(".extern .func")) {
        let is_of_the_driver = ["__assertfail", "vprintf"]
            .iter()
            .any(|name| declaration.ends_with(name));
        assert!(
            is_of_the_driver,
            "a function that nothing defines: {declaration}"
        );
    }
    let mut wrong = String::new();
    for (number, (expression, instruction)) in expected.iter().enumerate() {
        let start = ptx
            .find(&format!(".visible .entry case_{number}("))
            .expect(expression);
        let body = ptx[start..].split_once("\n}").expect(expression).0;
        assert!(
            body.contains(")\n.maxntid 128\n"),
            "{expression} has no launch bounds:\n{body}"
        );
        if !body.contains(instruction) {
            writeln!(wrong, "{expression} has no `{instruction}`:\n{body}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn everything_becomes_its_instruction_and_does_what_it_says() {
    if Toolchain::find().is_err() {
        left_out::note(Missing::DeviceToolchain);
        return;
    }
    let (baseline, later): (Vec<_>, Vec<_>) = BY_VERSION
        .iter()
        .map(|&(expression, substitute, instruction)| {
            ((expression, substitute), (expression, instruction))
        })
        .unzip();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // In the target folder: `core` is compiled once for all tests.
    // SAFETY: the only test of this program; nothing else reads the environment meanwhile.
    unsafe { std::env::set_var("OUT_DIR", env!("CARGO_TARGET_TMPDIR")) };

    let expected = [CASES, &baseline].concat();
    write_crate(folder, &source(&expected));
    check(NvvmArch::Compute70, folder, &expected);
    let expected = [CASES, &later, AMPERE, BEFORE_HOPPER].concat();
    write_crate(folder, &(source(&expected) + AMPERE_NAMES));
    check(NvvmArch::Compute80, folder, &expected);
    let expected = [CASES, &later, AMPERE, HOPPER].concat();
    write_crate(folder, &(source(&expected) + AMPERE_NAMES + HOPPER_NAMES));
    check(NvvmArch::Compute90, folder, &expected);
    let expected = [AMPERE, HOPPER, HOPPER_ALONE].concat();
    let names = [AMPERE_NAMES, HOPPER_NAMES, HOPPER_ALONE_NAMES].concat();
    write_crate(folder, &(source(&expected) + &names));
    check(NvvmArch::Compute90a, folder, &expected);

    let (ampere, hopper) = (executed::AMPERE, executed::HOPPER);
    write_crate(folder, &format!("#![no_std]\n{ampere}"));
    executed::run_all(&compile(NvvmArch::Compute80, folder), executed::ON_AMPERE);
    write_crate(folder, &format!("#![no_std]\n{ampere}{hopper}"));
    let module = compile(NvvmArch::Compute90, folder);
    executed::run_all(&module, executed::ON_AMPERE);
    executed::run_all(&module, executed::ON_HOPPER);
}
