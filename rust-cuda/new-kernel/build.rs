use cuda_builder::CudaBuilder;

fn main() {
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR").unwrap());
    CudaBuilder::new("kernels")
        .copy_to(out.join("kernels.ptx"))
        .build()
        .unwrap();
}
