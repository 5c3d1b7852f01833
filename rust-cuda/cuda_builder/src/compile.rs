//! The nested cargo build.
//!
//! One crate, fat LTO, one codegen unit, no unwinding: LLVM sees the kernels, `cuda_std` and `core` as one module and
//! leaves only what the kernels need. The assembly that LLVM writes is the PTX; nothing is linked (the linker is
//! `true`).

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::inputs::Inputs;
use crate::options::{EmitOption, Options};
use crate::sysroot::Shared;
use crate::{CudaBuilderError, PanicMode, Toolchain, advice};

pub(crate) const TARGET: &str = "nvptx64-nvidia-cuda";

/// Features of rustc that the macros of `cuda_std` expand to. They are switched on here so that a kernel's source does not
/// depend on the backend.
const FEATURES: [&str; 2] = ["abi_ptx", "asm_experimental_arch"];

/// Everything that the compiler is told and that the PTX depends on: what [`compile`] uses, in words.
pub(crate) fn settings(options: &Options) -> Vec<String> {
    let fixed = [TARGET].into_iter().chain(FEATURES).map(str::to_owned);
    let profile = options.profile().into_iter().chain(options.flags());
    let own = options
        .code_generation()
        .into_iter()
        .chain(options.build_args.clone());
    // A module whose panics format is what it was before there were others.
    let panics = (options.panic_mode() != PanicMode::Message)
        .then(|| format!("panics: {:?}, 2", options.panic_mode()));
    fixed.chain(profile).chain(own).chain(panics).collect()
}

/// Compiles a crate: its PTX, and the files that it was made of.
pub(crate) fn compile(
    toolchain: &Toolchain,
    path_to_crate: &Path,
    options: &Options,
    out_dir: &Path,
) -> Result<(String, Inputs), CudaBuilderError> {
    let shared = Shared::lock(out_dir)?;
    let sysroot = shared.sysroot(toolchain, options)?;
    let target_dir = shared.folder.join("target");
    let output = out_dir.join(options.arch.target_cpu());
    let assembly = output.with_extension("s");

    let mut flags = options.flags();
    flags.push(format!("--sysroot={}", sysroot.display()));
    let mut command = cargo(
        toolchain,
        path_to_crate,
        &target_dir,
        &options.profile(),
        &flags,
    );
    command
        .arg("--message-format=json-render-diagnostics")
        .args(&options.build_args)
        .env("CUDA_ARCH", options.cuda_arch())
        .args(["--", "-Clinker=true"])
        .args(features(path_to_crate))
        .args(options.code_generation())
        .arg(format!("--emit=asm={}", assembly.display()));
    if let Some(emit) = options.emit {
        let (kind, extension) = match emit {
            EmitOption::LlvmIr => ("llvm-ir", "ll"),
            EmitOption::Bitcode => ("llvm-bc", "bc"),
        };
        command.arg(format!(
            "--emit={kind}={}",
            output.with_extension(extension).display()
        ));
    }
    if let Some(path) = &options.final_module_path {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        command.arg(format!("--emit=llvm-ir={}", path.display()));
    }
    // Written anew: an old one must not pass for it.
    let _ = fs::remove_file(&assembly);
    let messages = run(command, toolchain, path_to_crate, options.arch.target_cpu())?;
    let inputs = Inputs::of_build(
        &messages,
        &target_dir.join(TARGET).join("release"),
        path_to_crate,
    )?;
    Ok((crate::read(&assembly)?, inputs))
}

/// The attribute that switches features on, without those that the crate itself switches on: rustc takes each once.
fn features(path_to_crate: &Path) -> Option<String> {
    let source = crate::read(&path_to_crate.join("src/lib.rs")).unwrap_or_default();
    let own = |name: &&&str| {
        source.split("feature(").skip(1).any(|list| {
            let list = list.split(')').next().unwrap_or_default();
            list.split(',').any(|feature| feature.trim() == **name)
        })
    };
    let missing: Vec<&str> = FEATURES.iter().filter(|name| !own(name)).copied().collect();
    (!missing.is_empty()).then(|| format!("-Zcrate-attr=feature({})", missing.join(",")))
}

/// cargo, about to compile a crate for the GPU.
pub(crate) fn cargo(
    toolchain: &Toolchain,
    path_to_crate: &Path,
    target_dir: &Path,
    profile: &[String],
    flags: &[String],
) -> Command {
    let mut command = Command::new(&toolchain.cargo);
    command
        .args(["rustc", "--lib", "--release", "--crate-type=cdylib"])
        .args(["--target", TARGET])
        .arg("--manifest-path")
        .arg(path_to_crate.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target_dir);
    for setting in profile {
        command.args(["--config", &format!("profile.release.{setting}")]);
    }
    isolate(&mut command);
    command
        .env("RUSTC", &toolchain.rustc)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    command
}

/// Runs cargo and gives what it wrote to standard output. Its messages appear as they come.
pub(crate) fn run(
    mut command: Command,
    toolchain: &Toolchain,
    path_to_crate: &Path,
    arch: &'static str,
) -> Result<String, CudaBuilderError> {
    let failed = |source| CudaBuilderError::Io {
        action: "start",
        path: toolchain.cargo.clone(),
        source,
    };
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let messages = child
        .stderr
        .take()
        .map(|stderr| thread::spawn(|| show(stderr)));
    let output = child.wait_with_output().map_err(failed)?;
    let messages = messages
        .and_then(|thread| thread.join().ok())
        .unwrap_or_default();
    if !output.status.success() {
        return Err(CudaBuilderError::Compile {
            path: path_to_crate.to_owned(),
            arch,
            status: output.status,
            advice: advice::on(&messages),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Writes to standard error what comes, and gives all of it.
fn show(messages: impl Read) -> String {
    let mut all = String::new();
    let mut reader = BufReader::new(messages);
    let mut line = Vec::new();
    while let Ok(1..) = reader.read_until(b'\n', &mut line) {
        // What cannot be shown is still read.
        let _ = io::stderr().write_all(&line);
        all.push_str(&String::from_utf8_lossy(&line));
        line.clear();
    }
    all
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
