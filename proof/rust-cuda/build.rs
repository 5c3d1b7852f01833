//! Keeps `ptx/` true to the sources in `kernels/`.
//!
//! `GPU_KERNELS_PTX=rebuild` compiles the modules even if they are up to date.

use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, PanicMode, Toolchain};

/// The crates in `kernels/` whose PTX is committed, with panics that format.
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
    let programs = PROGRAMS.map(|program| (program, PanicMode::Message));
    // As users have it, who say nothing of panics: `scripts/check-slices` compares its code with nvcc's.
    let slices = ("slices", PanicMode::Location);
    for (program, panics) in programs.into_iter().chain([slices]) {
        CudaBuilder::new(Path::new("kernels").join(program))
            .copy_to(Path::new("ptx").join(program).with_extension("ptx"))
            .panic_mode(panics)
            // The committed text must not depend on the place of the checkout.
            .generate_line_info(false)
            .rebuild(rebuild)
            .build()
            .unwrap_or_else(|error| error.exit());
    }
    // Too large to be committed.
    uncommitted("floats", "floats", PanicMode::Message);
    // As users have them, who say nothing of panics.
    uncommitted("printing", "located", PanicMode::Location);
    uncommitted("mistakes", "mistakes", PanicMode::Location);
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
