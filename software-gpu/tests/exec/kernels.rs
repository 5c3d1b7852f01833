//! The examples' kernels on the executor, against references on the CPU.

use crate::exec_support::*;
use software_gpu::exec::{BlockCost, GridCost};

/// Not a multiple of any block, nor of 4.
const N: usize = 4099;
const BLOCK: u32 = 128;
const BLOCKS: u32 = (N as u32).div_ceil(BLOCK);
const FACTOR: f32 = 0.999_755_9;
const SUMMAND: f32 = 0.000_244_140_63;

fn values(n: usize) -> Vec<f32> {
    (0..n)
        .map(|i| (i * i % 1013) as f32 * 0.125 - 31.0)
        .collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Runs a kernel that changes its first buffer, and compares it with `expected` and zeros behind.
fn check(
    kernel: &str,
    blocks: u32,
    data: &[f32],
    rest: impl Fn(u64) -> ParameterBytes,
    expected: &[f32],
) {
    let module = load(EXAMPLES).expect("the examples are understood");
    for threads in [1, 2, 5] {
        let mut device = TestDevice::new();
        let mut padded = data.to_vec();
        padded.extend([0.0; 64]);
        let address = device.upload(&padded);
        let launch = TestLaunch {
            threads,
            ..launch(blocks, BLOCK)
        };
        device
            .run(&module, kernel, launch, &rest(address))
            .unwrap_or_else(|fault| panic!("{fault}"));
        let mut expected = expected.to_vec();
        expected.extend([0.0; 64]);
        assert_eq!(
            bits(&device.download(address, padded.len())),
            bits(&expected),
            "{kernel}, {threads} threads"
        );
    }
}

#[test]
fn affine_kernels_update_every_element_and_no_more() {
    let (a, b) = (1.7_f32, -0.3_f32);
    for n in [1, 2, 3, 4, 5, 127, 128, 129, N] {
        let data = values(n);
        let expected: Vec<f32> = data.iter().map(|x| a.mul_add(*x, b)).collect();
        let parameters = |data: u64| {
            ParameterBytes::default()
                .with(data)
                .with(n as u64)
                .with(a)
                .with(b)
        };
        for kernel in ["affine", "affine_x4"] {
            check(kernel, BLOCKS, &data, parameters, &expected);
        }
    }
}

#[test]
fn rounds_are_dependent_operations() {
    let (a, b) = (1.25_f32, -0.5_f32);
    let data = values(N);
    for rounds in [0_u32, 1, 5, 32, 67] {
        let repeat = |x: &f32| (0..rounds).fold(*x, |x, _| a.mul_add(x, b));
        let expected: Vec<f32> = data.iter().map(repeat).collect();
        let parameters = |data: u64| {
            ParameterBytes::default()
                .with(data)
                .with(N as u64)
                .with(a)
                .with(b)
                .with(rounds)
        };
        for kernel in ["affine_rounds", "affine_rounds_x4", "affine_strided_x4"] {
            check(kernel, BLOCKS, &data, parameters, &expected);
        }
        // A grid that has a thread for some of the elements only.
        check("affine_strided_x4", 1, &data, parameters, &expected);
    }
}

#[test]
fn elementwise_kernels() {
    let data = values(N);
    let scaled: Vec<f32> = data.iter().map(|x| x * 3.3).collect();
    let parameters = |data: u64| {
        ParameterBytes::default()
            .with(data)
            .with(N as u64)
            .with(3.3_f32)
    };
    check("scale", BLOCKS, &data, parameters, &scaled);
    check("fill", BLOCKS, &data, parameters, &[3.3; N]);
    let counted: Vec<f32> = (0..N as u32)
        .map(|i| f32::from_bits((u32::MAX - 9).wrapping_add(i)))
        .collect();
    let parameters = |data: u64| {
        ParameterBytes::default()
            .with(data)
            .with(N as u64)
            .with(u32::MAX - 9)
    };
    check("iota", BLOCKS, &data, parameters, &counted);
}

#[test]
fn kernels_of_two_buffers() {
    let module = load(EXAMPLES).expect("the examples are understood");
    let mut device = TestDevice::new();
    let x = values(N);
    let y: Vec<f32> = x.iter().rev().copied().collect();
    let (dx, dy) = (device.upload(&x), device.upload(&y));
    let parameters = ParameterBytes::default()
        .with(1.5_f32)
        .with(dx)
        .with(N as u64)
        .with(dy);
    device
        .run(&module, "saxpy", launch(BLOCKS, BLOCK), &parameters)
        .expect("runs");
    let expected: Vec<f32> = x
        .iter()
        .zip(&y)
        .map(|(x, y)| 1.5_f32.mul_add(*x, *y))
        .collect();
    assert_eq!(bits(&device.download(dy, N)), bits(&expected));

    let parameters = ParameterBytes::default()
        .with(dx)
        .with(N as u64)
        .with(dy)
        .with(70_u32);
    device
        .run(&module, "fma_chain", launch(BLOCKS, BLOCK), &parameters)
        .expect("runs");
    let expected: Vec<f32> = x
        .iter()
        .map(|x| (0..70).fold(*x, |x, _| x.mul_add(FACTOR, SUMMAND)))
        .collect();
    assert_eq!(bits(&device.download(dy, N)), bits(&expected));
}

/// Small integers add up exactly in any order.
#[test]
fn reductions_by_shuffles_and_atomics() {
    let module = load(EXAMPLES).expect("the examples are understood");
    let x: Vec<f32> = (0..N).map(|i| (i % 17) as f32).collect();
    let y: Vec<f32> = (0..N).map(|i| (i % 5) as f32 - 2.0).collect();
    for (blocks, threads) in [(1, 32), (3, 256), (BLOCKS, BLOCK), (2, 1024)] {
        let mut device = TestDevice::new();
        let (dx, dy, result) = (
            device.upload(&x),
            device.upload(&y),
            device.upload(&[100.0_f32, 0.0]),
        );
        let parameters = ParameterBytes::default()
            .with(dx)
            .with(N as u64)
            .with(result);
        device
            .run(&module, "sum", launch(blocks, threads), &parameters)
            .expect("runs");
        let parameters = ParameterBytes::default()
            .with(dx)
            .with(N as u64)
            .with(dy)
            .with(result + 4);
        device
            .run(&module, "dot", launch(blocks, threads), &parameters)
            .expect("runs");
        let dot: f32 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
        assert_eq!(
            device.download::<f32>(result, 2),
            [100.0 + x.iter().sum::<f32>(), dot]
        );
    }
}

#[test]
fn spinning_takes_the_time_asked_for() {
    let module = load(EXAMPLES).expect("the examples are understood");
    let mut device = TestDevice::new();
    let out = device.upload(&[u32::MAX; 8]);
    let parameters = ParameterBytes::default().with(100_000_u64).with(out);
    let cost = device
        .run(&module, "spin", launch(7, 64), &parameters)
        .expect("ends");
    assert_eq!(
        device.download::<u32>(out, 8),
        [0, 1, 2, 3, 4, 5, 6, u32::MAX]
    );
    let [(7, BlockCost { latency_cycles, .. })] = cost.runs[..] else {
        panic!("all blocks cost the same: {cost:?}");
    };
    let microseconds = latency_cycles / 1980.0;
    assert!((100.0..101.0).contains(&microseconds), "{microseconds} µs");
}

#[test]
fn costs_do_not_depend_on_host_threads() {
    let module = load(EXAMPLES).expect("the examples are understood");
    let cost = |threads| -> GridCost {
        let mut device = TestDevice::new();
        let data = device.upload(&values(N));
        let parameters = ParameterBytes::default()
            .with(data)
            .with(N as u64)
            .with(1.0_f32)
            .with(2.0_f32);
        let launch = TestLaunch {
            threads,
            ..launch(BLOCKS, BLOCK)
        };
        device
            .run(&module, "affine_x4", launch, &parameters)
            .expect("runs")
    };
    let alone = cost(1);
    assert_eq!(alone.blocks(), u64::from(BLOCKS));
    assert_eq!(alone, cost(2));
    assert_eq!(alone, cost(7));
    // All full blocks cost the same, the one with the tail differs, those behind it do nothing.
    assert_eq!(alone.runs.len(), 3, "{alone:?}");
    assert_eq!(alone.runs[0].1.global_read_bytes, u64::from(BLOCK) * 16);
}
