//! Every kernel of the examples' module on random operands, special values included.

use anyhow::Result;
use conformance::{
    device::{Device, download, upload},
    inputs::f32_bits,
    vectors::Vectors,
};
use gpu_kernels::SM_70;
use std::ffi::c_void;

const N: usize = 4099;
const THREADS: u32 = 128;

#[test]
fn every_kernel_gives_the_recorded_bits() -> Result<()> {
    let device = Device::open()?;
    let module = device.load(SM_70)?;
    let mut vectors = Vectors::new("kernels", include_str!("kernels.digests"));

    let (x, y) = (f32_bits(11, N), f32_bits(12, N));
    let mut check = |name: &str,
                     kernel: &str,
                     blocks: u32,
                     run: &dyn Fn(u64, u64) -> Vec<Vec<u8>>,
                     result_is_x: bool|
     -> Result<()> {
        let (dx, dy) = (upload(&x)?, upload(&y)?);
        let owned = run(dx.as_device_ptr().as_raw(), dy.as_device_ptr().as_raw());
        let parameters: Vec<*mut c_void> = owned
            .iter()
            .map(|bytes| bytes.as_ptr().cast_mut().cast())
            .collect();
        // SAFETY: `run` gives each kernel's parameters by value; the buffers have N elements.
        unsafe { device.run(&module, kernel, (blocks, THREADS), &parameters) }?;
        let result = download(if result_is_x { &dx } else { &dy })?;
        vectors.add(name, bytemuck::cast_slice(&result), 4)
    };
    let all = (N as u32).div_ceil(THREADS);
    let bytes = |words: &[&[u8]]| -> Vec<Vec<u8>> { words.iter().map(|w| w.to_vec()).collect() };
    let (n, a, b) = (
        N.to_le_bytes(),
        1.7_f32.to_le_bytes(),
        (-0.3_f32).to_le_bytes(),
    );
    let rounds = 5_u32.to_le_bytes();

    for kernel in ["affine", "affine_x4"] {
        check(
            kernel,
            kernel,
            all,
            &|x, _| bytes(&[&x.to_le_bytes(), &n, &a, &b]),
            true,
        )?;
    }
    for kernel in ["affine_rounds", "affine_rounds_x4"] {
        check(
            kernel,
            kernel,
            all,
            &|x, _| bytes(&[&x.to_le_bytes(), &n, &a, &b, &rounds]),
            true,
        )?;
    }
    check(
        "fma_chain",
        "fma_chain",
        all,
        &|x, y| bytes(&[&x.to_le_bytes(), &n, &y.to_le_bytes(), &rounds]),
        false,
    )?;
    check(
        "fill",
        "fill",
        all,
        &|x, _| bytes(&[&x.to_le_bytes(), &n, &a]),
        true,
    )?;
    check(
        "iota",
        "iota",
        all,
        &|x, _| bytes(&[&x.to_le_bytes(), &n, &rounds]),
        true,
    )?;
    check(
        "scale",
        "scale",
        all,
        &|x, _| bytes(&[&x.to_le_bytes(), &n, &a]),
        true,
    )?;
    check(
        "saxpy",
        "saxpy",
        all,
        &|x, y| bytes(&[&a, &x.to_le_bytes(), &n, &y.to_le_bytes()]),
        false,
    )?;
    // One block: the order of additions across blocks is not specified.
    let few = 1000_usize.to_le_bytes();
    check(
        "sum",
        "sum",
        1,
        &|x, y| bytes(&[&x.to_le_bytes(), &few, &y.to_le_bytes()]),
        false,
    )?;
    check(
        "dot",
        "dot",
        1,
        &|x, y| bytes(&[&x.to_le_bytes(), &few, &x.to_le_bytes(), &y.to_le_bytes()]),
        false,
    )?;
    check(
        "spin",
        "spin",
        7,
        &|_, y| bytes(&[&1000_u64.to_le_bytes(), &y.to_le_bytes()]),
        false,
    )?;
    vectors.finish()
}
