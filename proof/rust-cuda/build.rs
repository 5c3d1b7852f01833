//! Keeps `ptx/` true to the sources in `kernels/`.
//!
//! `GPU_KERNELS_PTX=rebuild` compiles the modules even if they are up to date.

use std::path::Path;

use cuda_builder::CudaBuilder;

fn main() {
    println!("cargo::rerun-if-env-changed=GPU_KERNELS_PTX");
    let rebuild = std::env::var("GPU_KERNELS_PTX").as_deref() == Ok("rebuild");
    for program in ["vecadd", "gemm", "i128", "sha2", "path_tracer", "printing"] {
        CudaBuilder::new(Path::new("kernels").join(program))
            .copy_to(Path::new("ptx").join(program).with_extension("ptx"))
            .rebuild(rebuild)
            .build()
            .unwrap_or_else(|error| error.exit());
    }
}
