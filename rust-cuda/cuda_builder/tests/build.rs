//! The builder as a build script uses it: each case runs this very test program again, in the environment of one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cuda_builder::{CudaBuilder, NvvmArch, Toolchain};
use left_out::Missing;
use tempfile::TempDir;

/// Set in the process that plays the build script, to the folder of the module.
const AS_BUILD_SCRIPT: &str = "PLAYS_BUILD_SCRIPT";

/// The build script: brings `module.ptx` up to date with the crate in the current folder.
#[test]
fn build_script() {
    let Some(folder) = std::env::var_os(AS_BUILD_SCRIPT) else {
        return;
    };
    CudaBuilder::new(".")
        .arch(NvvmArch::Compute70)
        .copy_to(Path::new(&folder).join("module.ptx"))
        .build()
        .unwrap_or_else(|error| error.exit());
}

fn kernels(source: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(
        folder.path().join("Cargo.toml"),
        "[package]\nname = \"kernels\"\nedition = \"2024\"\n[workspace]\n",
    )
    .unwrap();
    fs::write(folder.path().join("src/lib.rs"), source).unwrap();
    folder
}

/// In the target folder: `core` is compiled once for all tests.
fn out_dir(folder: &Path) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder.file_name().unwrap())
}

fn run_build_script(folder: &Path, rustc: Option<&str>) -> Output {
    run_build_script_into(Path::new(""), folder, rustc)
}

fn run_build_script_into(destination: &Path, folder: &Path, rustc: Option<&str>) -> Output {
    build_script_command(destination, folder, rustc)
        .output()
        .unwrap()
}

fn build_script_command(destination: &Path, folder: &Path, rustc: Option<&str>) -> Command {
    let out_dir = out_dir(folder);
    fs::create_dir_all(&out_dir).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "build_script", "--nocapture"])
        .current_dir(folder)
        .env(AS_BUILD_SCRIPT, destination)
        .env("OUT_DIR", out_dir)
        // What a surrounding build leaves in the environment must not reach the nested one.
        .env("RUSTC_WRAPPER", "no-such-wrapper")
        .env("CARGO_ENCODED_RUSTFLAGS", "--no-such-flag")
        .env("CARGO_BUILD_TARGET", "no-such-target");
    match rustc {
        Some(rustc) => command.env("CUDA_BUILDER_RUSTC", rustc),
        None => command.env_remove("CUDA_BUILDER_RUSTC"),
    };
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const NO_RUSTC: Option<&str> = Some("no/such/rustc");

#[test]
fn without_a_toolchain_it_says_what_to_install() {
    let folder = kernels("#![no_std]\n");
    let output = run_build_script(folder.path(), NO_RUSTC);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    for expected in [
        "cargo::error=module.ptx does not exist, and",
        "cargo::error=    looked for CUDA_BUILDER_RUSTC: no/such/rustc",
        "rustup toolchain install 1.96.0 --profile minimal --component rust-src",
        "apt-get install --no-install-recommends rustc-web rust-web-src",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
    assert!(!folder.path().join("module.ptx").exists());
}

/// cargo would find it newer than the script's run, and never be done.
#[test]
fn a_module_in_out_dir_is_not_watched() {
    let folder = kernels("#![no_std]\n");
    let out_dir = out_dir(folder.path());
    for (destination, is_watched) in [(Path::new(""), true), (out_dir.as_path(), false)] {
        let output = run_build_script_into(destination, folder.path(), NO_RUSTC);
        let file = destination.join("module.ptx");
        let line = format!("cargo::rerun-if-changed={}\n", file.display());
        assert_eq!(stdout(&output).contains(&line), is_watched, "{line}");
    }
}

#[test]
fn another_compiler_is_refused() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(&rustc).arg("--version").output().unwrap();
    if stdout(&version).contains(cuda_builder::DEVICE_RUSTC) {
        left_out::note(Missing::OtherCompiler);
        return;
    }
    let output = run_build_script(kernels("").path(), Some(&rustc));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains(&format!("{rustc} is rustc ")),
        "{}",
        stdout(&output)
    );
}

/// Compiles, edits, and compares what a stale and a fresh module do.
#[test]
fn a_module_is_compiled_once_per_change() {
    if Toolchain::find().is_err() {
        left_out::note(Missing::DeviceToolchain);
        return;
    }
    const SOURCE: &str = r#"#![no_std]
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn answer(out: *mut u32) {
    unsafe { *out = 42 };
}
core::arch::global_asm!("// launch_bounds answer .maxntid 128");
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
"#;
    let folder = kernels(SOURCE);
    let module = folder.path().join("module.ptx");

    let output = run_build_script(folder.path(), None);
    assert!(
        output.status.success(),
        "{}{}",
        stdout(&output),
        String::from_utf8_lossy(&output.stderr)
    );
    let ptx = fs::read_to_string(&module).unwrap();
    assert!(ptx.contains(".visible .entry answer("), "{ptx}");
    assert!(ptx.contains(")\n.maxntid 128\n{"), "{ptx}");
    assert!(ptx.contains("42"), "{ptx}");

    let output = run_build_script(folder.path(), NO_RUSTC);
    assert!(
        output.status.success(),
        "an up-to-date module needs no compiler: {}",
        stdout(&output)
    );

    fs::write(folder.path().join("src/lib.rs"), SOURCE.replace("42", "43")).unwrap();
    let output = run_build_script(folder.path(), NO_RUSTC);
    assert_eq!(output.status.code(), Some(1), "a stale one does");

    fs::write(folder.path().join("src/lib.rs"), "does not compile").unwrap();
    let output = run_build_script(folder.path(), None);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("cargo::error=the kernels in . do not compile for sm_70"));
    assert_eq!(
        fs::read_to_string(&module).unwrap(),
        ptx,
        "the old module stays"
    );
}

/// What is compiled decides whether a module is stale: sources of path dependencies count, the host's do not.
#[test]
fn a_path_dependency_makes_a_module_stale_and_host_files_do_not() {
    if Toolchain::find().is_err() {
        left_out::note(Missing::DeviceToolchain);
        return;
    }
    let folder = kernels(
        r#"#[cfg(not(target_os = "cuda"))]
mod host;
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn factor(out: *mut f32) {
    unsafe { *out = dependency::FACTOR };
}
#[cfg(target_os = "cuda")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
"#,
    );
    let path = |name: &str| folder.path().join(name);
    fs::create_dir_all(path("dependency/src")).unwrap();
    let manifest = "[package]\nname = \"kernels\"\nedition = \"2024\"\n[workspace]\n\
                    [dependencies]\ndependency.path = \"dependency\"\n";
    fs::write(path("Cargo.toml"), manifest).unwrap();
    fs::write(path("src/host.rs"), "").unwrap();
    fs::write(
        path("dependency/Cargo.toml"),
        "[package]\nname = \"dependency\"\nedition = \"2024\"\n",
    )
    .unwrap();
    let set_factor = |factor| {
        let source = format!("pub const FACTOR: f32 = {factor};\n");
        fs::write(path("dependency/src/lib.rs"), source).unwrap();
    };
    let build = |rustc| {
        let output = run_build_script(folder.path(), rustc);
        assert!(
            output.status.success(),
            "{}{}",
            stdout(&output),
            String::from_utf8_lossy(&output.stderr)
        );
        fs::read_to_string(path("module.ptx")).unwrap()
    };
    set_factor("1.5");
    let before = build(None);
    assert!(
        before.contains(&format!("{}", 1.5_f32.to_bits())),
        "{before}"
    );
    let watched = stdout(&run_build_script(folder.path(), NO_RUSTC));
    assert!(
        watched.contains("cargo::rerun-if-changed=./dependency/src/lib.rs"),
        "{watched}"
    );

    fs::write(path("src/host.rs"), "pub fn f() {}\n").unwrap();
    fs::write(
        path("Cargo.toml"),
        manifest.to_owned() + "[lints.rust]\nunused = \"warn\"\n",
    )
    .unwrap();
    assert_eq!(build(NO_RUSTC), before, "nothing of the GPU's has changed");

    set_factor("2.5");
    let output = run_build_script(folder.path(), NO_RUSTC);
    assert_eq!(output.status.code(), Some(1), "stale");
    let after = build(None);
    assert!(after.contains(&format!("{}", 2.5_f32.to_bits())), "{after}");
}

/// A table that the crate's build script makes of a text: the text counts, not the table in the target folder.
#[test]
fn what_a_build_script_names_makes_a_module_stale() {
    if Toolchain::find().is_err() {
        left_out::note(Missing::DeviceToolchain);
        return;
    }
    let folder = kernels(
        r#"include!(concat!(env!("OUT_DIR"), "/factor.rs"));
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn factor(out: *mut f32) {
    unsafe { *out = FACTOR };
}
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
"#,
    );
    const SCRIPT: &str = r#"fn main() {
    println!("cargo::rerun-if-changed=data");
    let factor = std::fs::read_to_string("data/factor.txt").unwrap();
    let file = std::path::Path::new(&std::env::var_os("OUT_DIR").unwrap()).join("factor.rs");
    std::fs::write(file, format!("const FACTOR: f32 = {factor};")).unwrap();
}
"#;
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    write("build.rs", SCRIPT);
    write("data/factor.txt", "1.5");
    let compiled = |rustc| {
        let output = run_build_script(folder.path(), rustc);
        let ptx = fs::read_to_string(folder.path().join("module.ptx")).unwrap_or_default();
        let has = |factor: f32| ptx.contains(&factor.to_bits().to_string());
        (output.status.success(), has(1.5), has(2.5), has(3.5))
    };
    assert_eq!(compiled(None), (true, true, false, false));
    assert_eq!(compiled(NO_RUSTC), (true, true, false, false), "fresh");
    let watched = stdout(&run_build_script(folder.path(), NO_RUSTC));
    assert!(watched.contains("=./data/factor.txt\n"), "{watched}");
    assert!(!watched.contains("factor.rs"), "{watched}");

    write("data/factor.txt", "2.5");
    assert_eq!(compiled(NO_RUSTC), (false, true, false, false), "stale");
    assert_eq!(compiled(None), (true, false, true, false));
    write("build.rs", &SCRIPT.replace("{factor};", "1.0 + {factor};"));
    assert_eq!(compiled(NO_RUSTC), (false, false, true, false), "stale");
    assert_eq!(compiled(None), (true, false, false, true));
}

/// `option_env!`, and a build script that reads a variable: another value makes the module stale, and so does none.
#[test]
fn an_environment_variable_makes_a_module_stale() {
    if Toolchain::find().is_err() {
        left_out::note(Missing::DeviceToolchain);
        return;
    }
    const KERNEL: &str = r#"
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn tile(out: *mut u8) {
    unsafe { *out = TILE.as_bytes()[0] };
}
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
"#;
    const SCRIPT: &str = r#"fn main() {
    println!("cargo::rerun-if-env-changed=KERNELS_TILE");
    println!("cargo::rustc-env=GIVEN={}", std::env::var("KERNELS_TILE").unwrap_or("@".into()));
}
"#;
    let by_source = "const TILE: &str = match option_env!(\"KERNELS_TILE\") { Some(tile) => tile, None => \"@\" };";
    let by_script = "const TILE: &str = env!(\"GIVEN\");";
    for (line, script) in [(by_source, None), (by_script, Some(SCRIPT))] {
        let folder = kernels(&(line.to_owned() + KERNEL));
        if let Some(script) = script {
            fs::write(folder.path().join("build.rs"), script).unwrap();
        }
        let build = |tile: Option<&str>, rustc| {
            let mut command = build_script_command(Path::new(""), folder.path(), rustc);
            match tile {
                Some(tile) => command.env("KERNELS_TILE", tile),
                None => command.env_remove("KERNELS_TILE"),
            };
            let output = command.output().unwrap();
            let watched = stdout(&output).contains("cargo::rerun-if-env-changed=KERNELS_TILE\n");
            let ptx = fs::read_to_string(folder.path().join("module.ptx")).unwrap_or_default();
            let has = |letter: u8| {
                let stored = format!(", {letter};");
                ptx.lines().any(|line| {
                    line.contains("st.") && line.ends_with(&stored)
                        || line.contains("mov.") && line.ends_with(&stored)
                })
            };
            let found = [b'@', b'A', b'B'].map(has);
            (output.status.success(), watched, found)
        };
        assert_eq!(
            build(None, None),
            (true, true, [true, false, false]),
            "{line}"
        );
        assert!(build(None, NO_RUSTC).0, "fresh: {line}");
        assert!(!build(Some("A"), NO_RUSTC).0, "stale: {line}");
        assert_eq!(
            build(Some("A"), None),
            (true, true, [false, true, false]),
            "{line}"
        );
        assert!(build(Some("A"), NO_RUSTC).0, "fresh: {line}");
        assert_eq!(
            build(Some("B"), None),
            (true, true, [false, false, true]),
            "{line}"
        );
        assert!(!build(None, NO_RUSTC).0, "stale: {line}");
    }
}

/// The README's table of what makes a module stale names tests; they exist.
#[test]
fn the_readme_names_tests_that_exist() {
    let readme = include_str!("../../README.md");
    let (_, section) = readme
        .split_once("## When the PTX is compiled again")
        .expect("its section");
    let rows = section
        .lines()
        .skip_while(|line| !line.starts_with("| a change of"));
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    let sources = [
        include_str!("build.rs"),
        include_str!("../src/inputs.rs"),
        include_str!("../src/lib.rs"),
        include_str!("../src/ptx.rs"),
        include_str!("../src/workspace.rs"),
    ];
    let mut count = 0;
    for row in rows {
        let tests = row.rsplit('|').nth(1).expect("a last column");
        for test in tests.split('`').skip(1).step_by(2) {
            let declared = format!("#[test]\nfn {test}(");
            let in_module = format!("    fn {test}(");
            let is_declared =
                |source: &&str| source.contains(&declared) || source.contains(&in_module);
            assert!(sources.iter().any(is_declared), "{test}");
            count += 1;
        }
    }
    assert!(count >= 12, "{count} tests");
}

/// An empty module loads, and no kernel is found in it: the build says so.
#[test]
fn a_crate_without_kernels_is_warned_of() {
    if Toolchain::find().is_err() {
        left_out::note(Missing::DeviceToolchain);
        return;
    }
    let folder = kernels(
        "#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\npub fn scale(x: f32) -> f32 { x }\n",
    );
    let output = run_build_script(folder.path(), None);
    let text = stdout(&output);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("cargo::warning=the module of . has no kernel: "),
        "{text}"
    );
}

/// Sources for the host, and what the error says beside the compiler's messages.
#[test]
fn mistakes_get_a_sentence() {
    if Toolchain::find().is_err() {
        left_out::note(Missing::DeviceToolchain);
        return;
    }
    let folder = kernels("");
    for (source, expected) in [
        (
            "pub fn f() { let _: Vec<u32> = Vec::new(); }",
            "cargo::error=help: kernels are `no_std`: `Vec`, ",
        ),
        (
            "extern crate alloc; pub fn f() -> alloc::vec::Vec<u32> { alloc::vec![1] }",
            "`alloc` needs an allocator: `cuda_std`'s feature `alloc`",
        ),
        (
            "pub fn f() { println!(); }",
            "`use cuda_std::prelude::*;` or `use cuda_std::println;`",
        ),
        (
            "pub fn f() -> usize { std::mem::size_of::<u32>() }",
            "`core::` and, for what allocates, `alloc::`",
        ),
        (
            "#[address_space(shared)] static mut TILE: [f32; 4] = [0.0; 4];",
            "`use cuda_std::address_space;`",
        ),
        (
            "pub fn f(x: f32) -> f32 { x.sin() }",
            "`use cuda_std::GpuFloat;`",
        ),
        (
            "#[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn wide(x: u128, out: *mut f32) { unsafe { *out = x as f32 } }\n\
             #[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }",
            "such as `u128 as f32`: convert the two halves as `u64`",
        ),
        (
            // LLVM makes plain instructions of most atomics on local variables, and `atom.local.cas` of this one.
            "use core::sync::atomic::{AtomicU32, Ordering::Relaxed};\n\
             #[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn count(out: *mut u32, i: usize) {\n\
             let n = [const { AtomicU32::new(1) }; 2]; let _ = n[i & 1].compare_exchange(1, 2, Relaxed, Relaxed);\n\
             unsafe { *out = n[0].load(Relaxed) } }\n\
             #[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }",
            "`count` has an atomic operation on a local variable",
        ),
    ] {
        fs::write(folder.path().join("src/lib.rs"), source).unwrap();
        let output = run_build_script(folder.path(), None);
        assert_eq!(output.status.code(), Some(1), "{source}");
        let text = stdout(&output);
        assert!(
            text.contains(expected),
            "{source}: {expected:?} is not in\n{text}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(!folder.path().join("module.ptx").exists());
    }
}
