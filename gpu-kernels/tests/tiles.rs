//! The kernels over tiles: each gives the bits that the same multiply-adds give on the CPU, and so all give the same.

mod support;

use anyhow::{Result, ensure};
use gpu_kernels::{
    CONSUMERS, FACTOR, PLAIN_PRODUCERS, SM_70, SM_80, SM_90, STAGES, SUMMAND, Signature as _, TILE,
};
use support::LaunchArgument::{Pointer, U32};
use support::{TestDevice, blocks, download, numbers, pointer, upload};

/// The kernels of each module and their threads per block.
const BASELINE: [(&str, u32); 2] = [
    (gpu_kernels::fma_tiles_unspecialised::NAME, CONSUMERS),
    (
        gpu_kernels::fma_tiles_named_barriers::NAME,
        CONSUMERS + PLAIN_PRODUCERS,
    ),
];
const AMPERE: [(&str, u32); 1] = [(gpu_kernels::fma_tiles_cp_async::NAME, CONSUMERS + 32)];
const HOPPER: [(&str, u32); 2] = [
    AMPERE[0],
    (gpu_kernels::fma_tiles_bulk::NAME, CONSUMERS + 32),
];

/// The elements beyond the output.
const UNTOUCHED: f32 = -5.0;

fn check(
    device: &TestDevice,
    (kernel, threads): (&str, u32),
    n: usize,
    grid: u32,
    rounds: u32,
) -> Result<()> {
    let x = numbers(n as u32, n);
    let input = upload(&x)?;
    let output = upload(&vec![UNTOUCHED; n + 4])?;
    let arguments = [
        pointer(&input),
        Pointer(n as u64),
        pointer(&output),
        U32(rounds),
    ];
    // SAFETY: the kernel's parameters, and buffers of these lengths.
    unsafe { device.run(kernel, blocks(grid, threads), &arguments)? };
    let output = download(&output)?;
    for (i, (x, found)) in x.iter().zip(&output).enumerate() {
        let expected = (0..rounds).fold(*x, |x, _| x.mul_add(FACTOR, SUMMAND));
        ensure!(
            found.to_bits() == expected.to_bits(),
            "{kernel}, {n} elements, {grid} blocks, {rounds} rounds: element {i} is {found}, not {expected}"
        );
    }
    ensure!(
        output[n..] == [UNTOUCHED; 4],
        "{kernel} stores beyond its output"
    );
    Ok(())
}

fn check_all(ptx: &str, kernels: &[(&str, u32)]) -> Result<()> {
    let device = TestDevice::open(ptx)?;
    let tile = TILE as usize;
    let ring = STAGES as usize * tile;
    for &kernel in kernels {
        // Parts of a tile, whole tiles, fewer tiles than stages, just as many, several times around the ring.
        for n in [
            4,
            tile - 4,
            tile,
            tile + 4,
            ring,
            2 * ring,
            3 * ring + tile + 8,
        ] {
            check(&device, kernel, n, 1, 3)?;
        }
        check(&device, kernel, 0, 1, 3)?;
        check(&device, kernel, 5 * ring + 20, 3, 37)?;
        check(&device, kernel, ring, 7, 0)?;
    }
    Ok(())
}

#[test]
fn plain_loads_give_the_bits_of_the_reference() -> Result<()> {
    check_all(SM_70, &BASELINE)
}

#[test]
fn asynchronous_copies_of_ampere_give_the_bits_of_the_reference() -> Result<()> {
    check_all(SM_80, &AMPERE)
}

#[test]
fn asynchronous_copies_of_hopper_give_the_bits_of_the_reference() -> Result<()> {
    check_all(SM_90, &HOPPER)
}
