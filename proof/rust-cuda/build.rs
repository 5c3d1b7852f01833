//! Keeps `ptx/` true to the sources in `kernels/`.
//!
//! `GPU_KERNELS_PTX=rebuild` compiles the modules even if they are up to date.

use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, Toolchain};

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
            .rebuild(rebuild)
            .build()
            .unwrap_or_else(|error| error.exit());
    }
    floats();
}

/// The kernel that prints floats is too large to be committed. Without a device toolchain it is not built.
fn floats() {
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let file = PathBuf::from(out).join("floats.ptx");
    if Toolchain::find().is_err() {
        std::fs::write(file, "").expect("the folder can be written");
        // There is no such file, so cargo looks for the toolchain again at each build.
        println!("cargo::rerun-if-changed=no-device-toolchain");
        return;
    }
    CudaBuilder::new("kernels/floats")
        .copy_to(file)
        .build()
        .unwrap_or_else(|error| error.exit());
}
