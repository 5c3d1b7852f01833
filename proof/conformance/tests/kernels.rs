//! Every kernel of the examples' module on random operands, special values included.

use anyhow::{Result, ensure};
use conformance::{
    device::{RuleDevice, download, upload},
    inputs::{Random, f32_bits},
    vectors::Vectors,
};
use gpu_kernels::{SM_70, Signature as _};
use std::ffi::c_void;

/// Not a multiple of a block, nor of four.
const N: usize = 4099;
const THREADS: u32 = 128;
const BLOCKS: u32 = (N as u32).div_ceil(THREADS);
/// Two passes of the kernels' unrolled loops, and five rounds more.
const ROUNDS: u32 = 69;
/// Terms of the reductions.
const TERMS: usize = 1000;

/// Kernels of matrices, whose own tests, beside the kernels, compare them with references for many shapes.
const TESTED_BY_SHAPE: &[&str] = &[
    gpu_kernels::matmul::NAME,
    gpu_kernels::matmul_transposed::NAME,
    gpu_kernels::softmax_rows::NAME,
    gpu_kernels::bias_gelu::NAME,
    gpu_kernels::bias_residual::NAME,
    gpu_kernels::append_kv::NAME,
    gpu_kernels::paged_attention::NAME,
    gpu_kernels::fma_tiles_unspecialised::NAME,
    gpu_kernels::fma_tiles_named_barriers::NAME,
    gpu_kernels::hold_registers::NAME,
    gpu_kernels::relax::NAME,
    gpu_kernels::relax_persistent::NAME,
    gpu_kernels::serve_queue::NAME,
    gpu_kernels::jacobi::NAME,
];

/// Kernels of vlm_pipeline and schedules, which compare what they store with the CPU.
const TESTED_BY_LESSON: &[&str] = &[
    gpu_kernels::column_sums::NAME,
    gpu_kernels::texture_features::NAME,
    gpu_kernels::patch_relevance::NAME,
    gpu_kernels::allocate_tokens::NAME,
    gpu_kernels::emit_tokens::NAME,
];

/// One kernel's launch: its arguments by value, and which of the two buffers it leaves its result in.
struct KernelLaunch {
    kernel: &'static str,
    blocks: u32,
    arguments: Vec<CaseArgument>,
    result: Buffer,
}

#[derive(Clone, Copy)]
enum CaseArgument {
    Pointer(Buffer),
    Bytes4([u8; 4]),
    Bytes8([u8; 8]),
}

#[derive(Clone, Copy, PartialEq)]
enum Buffer {
    X,
    Y,
}

use Buffer::{X, Y};
use CaseArgument::{Bytes4, Bytes8, Pointer};

fn cases() -> Vec<KernelLaunch> {
    let (x, y) = (Pointer(X), Pointer(Y));
    let (n, terms) = (Bytes8(N.to_le_bytes()), Bytes8(TERMS.to_le_bytes()));
    let (a, b) = (
        Bytes4(1.7_f32.to_le_bytes()),
        Bytes4((-0.3_f32).to_le_bytes()),
    );
    let rounds = Bytes4(ROUNDS.to_le_bytes());
    let ns = Bytes8(1000_u64.to_le_bytes());
    let case = |kernel, blocks, arguments: &[CaseArgument], result| KernelLaunch {
        kernel,
        blocks,
        arguments: arguments.to_vec(),
        result,
    };
    vec![
        case(gpu_kernels::affine::NAME, BLOCKS, &[x, n, a, b], X),
        case(gpu_kernels::affine_x4::NAME, BLOCKS, &[x, n, a, b], X),
        case(
            gpu_kernels::affine_rounds::NAME,
            BLOCKS,
            &[x, n, a, b, rounds],
            X,
        ),
        case(
            gpu_kernels::affine_rounds_x4::NAME,
            BLOCKS,
            &[x, n, a, b, rounds],
            X,
        ),
        case(
            gpu_kernels::affine_strided_x4::NAME,
            3,
            &[x, n, a, b, rounds],
            X,
        ),
        case(gpu_kernels::fma_chain::NAME, BLOCKS, &[x, n, y, rounds], Y),
        case(gpu_kernels::fill::NAME, BLOCKS, &[x, n, a], X),
        case(gpu_kernels::iota::NAME, BLOCKS, &[x, n, rounds], X),
        case(gpu_kernels::scale::NAME, BLOCKS, &[x, n, a], X),
        case(gpu_kernels::saxpy::NAME, BLOCKS, &[a, x, n, y], Y),
        // One block: the order of additions across blocks is not specified.
        case(gpu_kernels::sum::NAME, 1, &[x, terms, y], Y),
        case(gpu_kernels::dot::NAME, 1, &[x, terms, x, y], Y),
        case(gpu_kernels::spin::NAME, 7, &[ns, y], Y),
        case(gpu_kernels::hold::NAME, 7, &[ns, y], Y),
    ]
}

/// Floats of either sign between a quarter and four, so that sums stay finite and show every rounding.
fn finite(seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    let mut next = || {
        let bits = random.bits();
        (bits as u32 & 0x807f_ffff) | ((125 + (bits >> 32) as u32 % 4) << 23)
    };
    (0..N).map(|_| next()).collect()
}

/// Runs one case on the two operands and returns the bits of its result.
fn run(
    device: &RuleDevice,
    module: &cust::module::Module,
    case: &KernelLaunch,
    x: &[u32],
    y: &[u32],
) -> Result<Vec<u32>> {
    let (dx, dy) = (upload(x)?, upload(y)?);
    let address = |buffer| {
        if buffer == X {
            dx.as_device_ptr()
        } else {
            dy.as_device_ptr()
        }
    };
    let values: Vec<Vec<u8>> = case
        .arguments
        .iter()
        .map(|argument| match argument {
            Pointer(buffer) => address(*buffer).as_raw().to_le_bytes().to_vec(),
            Bytes4(bytes) => bytes.to_vec(),
            Bytes8(bytes) => bytes.to_vec(),
        })
        .collect();
    let parameters: Vec<*mut c_void> = values
        .iter()
        .map(|bytes| bytes.as_ptr().cast_mut().cast())
        .collect();
    // SAFETY: a case has its kernel's parameters by value, and the buffers have N elements.
    unsafe { device.run(module, case.kernel, (case.blocks, THREADS), &parameters) }?;
    download(if case.result == X { &dx } else { &dy })
}

#[test]
fn every_kernel_gives_the_recorded_bits() -> Result<()> {
    let device = RuleDevice::open()?;
    let module = device.load(SM_70)?;
    let mut vectors = Vectors::new("kernels", include_str!("kernels.digests"));
    let cases = cases();
    let covered: Vec<&str> = cases.iter().map(|case| case.kernel).collect();
    assert!(
        gpu_kernels::SM_70_KERNELS.iter().all(|name| {
            covered.contains(name)
                || TESTED_BY_SHAPE.contains(name)
                || TESTED_BY_LESSON.contains(name)
        }),
        "{covered:?}"
    );
    for (operands, x, y) in [
        ("any", f32_bits(11, N), f32_bits(12, N)),
        ("finite", finite(13), finite(14)),
    ] {
        for case in &cases {
            let result = run(&device, &module, case, &x, &y)?;
            if operands == "finite"
                && [gpu_kernels::sum::NAME, gpu_kernels::dot::NAME].contains(&case.kernel)
            {
                let (before, after) = (f32::from_bits(y[0]), f32::from_bits(result[0]));
                ensure!(
                    after.is_finite() && after != before,
                    "{}: {before} became {after}",
                    case.kernel
                );
            }
            vectors.add(
                &format!("{}_{operands}", case.kernel),
                bytemuck::cast_slice(&result),
                4,
            )?;
        }
    }
    vectors.finish()
}
