//! The modules that the kernels are compiled to.

use cuda_builder::{CudaBuilder, NvvmArch, PanicMode};
use std::path::Path;

/// Each module with its name, of the crate `gpu-kernels` in `folder`.
pub fn of(folder: &Path) -> [(&'static str, CudaBuilder); 4] {
    let module = |arch, name: &'static str| {
        let builder = CudaBuilder::new(folder)
            .arch(arch)
            // The kernels write `mul_add` where they mean it, and their bits are compared with a CPU's.
            .fma_contraction(false)
            // What a panic costs on a GPU belongs to the modelled times that are recorded.
            .panic_mode(PanicMode::Message)
            // The committed text must not depend on the place of the checkout.
            .generate_line_info(false)
            .copy_to(folder.join("ptx").join(name));
        (name, builder)
    };
    [
        module(NvvmArch::Compute70, "sm_70.ptx"),
        module(NvvmArch::Compute80, "sm_80.ptx"),
        module(NvvmArch::Compute90, "sm_90.ptx"),
        module(NvvmArch::Compute90a, "sm_90a.ptx"),
    ]
}
