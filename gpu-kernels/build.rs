//! Keeps `ptx/` true to the kernels' sources.
//!
//! `GPU_KERNELS_PTX=rebuild` compiles the modules even if they are up to date.

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    // The nested build, which compiles this very crate for the GPU.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("cuda") {
        return;
    }
    println!("cargo::rerun-if-env-changed=GPU_KERNELS_PTX");
    for (arch, module) in [
        (NvvmArch::Compute70, "ptx/sm_70.ptx"),
        (NvvmArch::Compute90, "ptx/sm_90.ptx"),
    ] {
        CudaBuilder::new(".")
            .depends_on("../rust-cuda/cuda_std")
            .depends_on("../rust-cuda/cuda_std_macros")
            .arch(arch)
            .copy_to(module)
            .rebuild(std::env::var("GPU_KERNELS_PTX").as_deref() == Ok("rebuild"))
            .build()
            .unwrap_or_else(|error| error.exit());
    }
}
