//! Keeps `ptx/` true to the sources in `kernels/`.
//!
//! `GPU_KERNELS_PTX=rebuild` compiles the modules even if they are up to date.

use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, PanicMode, Toolchain};

/// The crates in `kernels/` whose PTX is committed.
const PROGRAMS: [&str; 9] = [
    "vecadd",
    "gemm",
    "i128",
    "sha2",
    "path_tracer",
    "printing",
    "histogram",
    "reduce",
    "monte_carlo",
];

fn main() {
    println!("cargo::rerun-if-env-changed=GPU_KERNELS_PTX");
    let rebuild = std::env::var("GPU_KERNELS_PTX").as_deref() == Ok("rebuild");
    for program in PROGRAMS {
        CudaBuilder::new(Path::new("kernels").join(program))
            .copy_to(Path::new("ptx").join(program).with_extension("ptx"))
            .panic_mode(PanicMode::Message)
            .rebuild(rebuild)
            .build()
            .unwrap_or_else(|error| error.exit());
    }
    // Too large to be committed.
    uncommitted("floats", "floats", PanicMode::Message);
    // As users have it, who say nothing of panics.
    uncommitted("printing", "located", PanicMode::Location);
}

/// A module for tests alone, from the crate of that name. Without a device toolchain it is empty.
fn uncommitted(program: &str, module: &str, panics: PanicMode) {
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let file = PathBuf::from(out).join(module).with_extension("ptx");
    if Toolchain::find().is_err() {
        std::fs::write(file, "").expect("the folder can be written");
        // There is no such file, so cargo looks for the toolchain again at each build.
        println!("cargo::rerun-if-changed=no-device-toolchain");
        return;
    }
    CudaBuilder::new(Path::new("kernels").join(program))
        .copy_to(file)
        .panic_mode(panics)
        .build()
        .unwrap_or_else(|error| error.exit());
}
