//! The nested cargo build.
//!
//! One crate, fat LTO, one codegen unit, no unwinding: LLVM sees the kernels, `cuda_std` and `core` as one module and
//! leaves only what the kernels need. The assembly that LLVM writes is the PTX; nothing is linked (the linker is
//! `true`).

use std::path::Path;
use std::process::Command;

use crate::{CudaBuilderError, NvvmArch, Toolchain};

const TARGET: &str = "nvptx64-nvidia-cuda";

/// Features of rustc that `#[kernel]` expands to. They are switched on here so that a kernel's source does not depend
/// on the backend.
const FEATURES: &str = "-Zcrate-attr=feature(abi_ptx,asm_experimental_arch)";

/// How cargo compiles the kernels and what they use.
const PROFILE: [&str; 8] = [
    "opt-level=3",
    "debug=false",
    "debug-assertions=false",
    "overflow-checks=false",
    "incremental=false",
    "lto='fat'",
    "codegen-units=1",
    "panic='abort'",
];

/// Everything that the compiler is told and that the PTX depends on: what [`compile`] uses, in words.
pub(crate) fn settings(arch: NvvmArch) -> Vec<String> {
    let fixed = [TARGET, FEATURES].into_iter().chain(PROFILE);
    fixed.map(str::to_owned).chain(flags(arch)).collect()
}

fn flags(arch: NvvmArch) -> Vec<String> {
    let mut flags = vec![
        format!("-Ctarget-cpu={}", arch.target_cpu()),
        // No source locations: a panic is a trap, and paths of one machine must not reach the module.
        "-Zlocation-detail=none".into(),
    ];
    flags.extend(
        arch.target_feature()
            .map(|feature| format!("-Ctarget-feature={feature}")),
    );
    flags
}

/// Compiles a crate and returns the path of its PTX.
pub(crate) fn compile(
    toolchain: &Toolchain,
    path_to_crate: &Path,
    arch: NvvmArch,
    out_dir: &Path,
) -> Result<String, CudaBuilderError> {
    let assembly = out_dir.join(arch.target_cpu()).with_extension("s");
    let mut command = Command::new(&toolchain.cargo);
    command
        .args(["rustc", "--lib", "--release", "--crate-type=cdylib"])
        .args(["--target", TARGET, "-Zbuild-std=core"])
        .arg("--manifest-path")
        .arg(path_to_crate.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(out_dir.join("device"));
    for setting in PROFILE {
        command.args(["--config", &format!("profile.release.{setting}")]);
    }
    command
        .args(["--", "-Clinker=true", FEATURES])
        .arg(format!("--emit=asm={}", assembly.display()));

    isolate(&mut command);
    command
        .env("RUSTC", &toolchain.rustc)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_ENCODED_RUSTFLAGS", flags(arch).join("\x1f"));

    let status = command.status().map_err(|source| CudaBuilderError::Io {
        action: "start",
        path: toolchain.cargo.clone(),
        source,
    })?;
    if !status.success() {
        return Err(CudaBuilderError::Compile {
            path: path_to_crate.to_owned(),
            arch: arch.target_cpu(),
            status,
        });
    }
    crate::read(&assembly)
}

/// Takes from the nested build what the surrounding one put into the environment: its profile, target, flags and
/// wrappers. What says how to reach the registry stays.
fn isolate(command: &mut Command) {
    const KEPT: [&str; 5] = [
        "CARGO_HOME",
        "CARGO_NET_",
        "CARGO_HTTP_",
        "CARGO_REGISTR",
        "CARGO_MAKEFLAGS",
    ];
    for (name, _) in std::env::vars_os() {
        let Some(name) = name.to_str() else { continue };
        let of_cargo = name.starts_with("CARGO") && !KEPT.iter().any(|kept| name.starts_with(kept));
        let of_rustc = name.starts_with("RUSTC")
            || name.starts_with("RUSTFLAGS")
            || name == "RUSTUP_TOOLCHAIN";
        if of_cargo || of_rustc {
            command.env_remove(name);
        }
    }
    // Empty overrides a wrapper that a configuration file names.
    command
        .env("RUSTC_WRAPPER", "")
        .env("RUSTC_WORKSPACE_WRAPPER", "");
}
