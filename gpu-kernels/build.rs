//! Keeps `ptx/` true to the kernels' sources.
//!
//! `GPU_KERNELS_PTX=rebuild` compiles the modules even if they are up to date.

mod modules;

use std::path::Path;

fn main() {
    // The nested build, which compiles this very crate for the GPU.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("cuda") {
        return;
    }
    println!("cargo::rerun-if-env-changed=GPU_KERNELS_PTX");
    for (_, module) in modules::of(Path::new(".")) {
        module
            .rebuild(std::env::var("GPU_KERNELS_PTX").as_deref() == Ok("rebuild"))
            .build()
            .unwrap_or_else(|error| error.exit());
    }
}
