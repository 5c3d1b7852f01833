//! The matrix products of clusters: each kernel gives the product that the CPU computes, for every size of clusters.

mod support;

use anyhow::{Result, ensure};
use gpu_kernels::{
    PRODUCT_COLUMNS, PRODUCT_ROWS, PRODUCT_SHARED_BYTES, PRODUCT_TERMS, PRODUCT_THREADS, SM_90,
    Signature as _,
};
use support::LaunchArgument::U32;
use support::{LaunchExtents, TestDevice, download, pointer, upload};

const KERNELS: [&str; 3] = [
    gpu_kernels::product_global::NAME,
    gpu_kernels::product_dsmem::NAME,
    gpu_kernels::product_multicast::NAME,
];

/// Whole numbers, whose products and sums are exact.
fn whole(seed: usize, i: usize) -> f32 {
    ((seed + i).wrapping_mul(0x9e37_79b9) >> 16) as i32 as f32 % 8.0 - 4.0
}

/// Elements of a matrix in panels: by panel, term and place in the panel.
fn panels(seed: usize, panels: u32, terms: u32, edge: u32) -> Vec<f32> {
    (0..(panels * terms * edge) as usize)
        .map(|i| whole(seed, i))
        .collect()
}

#[derive(Clone, Copy)]
struct ClusterCase {
    rows: u32,
    columns: u32,
    terms: u32,
}

fn check(device: &TestDevice, kernel: &str, cluster: u32, case: ClusterCase) -> Result<()> {
    let (a, b) = (
        panels(1, case.rows, case.terms, PRODUCT_ROWS),
        panels(2, case.columns, case.terms, PRODUCT_COLUMNS),
    );
    let (width, height) = (case.columns * PRODUCT_COLUMNS, case.rows * PRODUCT_ROWS);
    let c = upload(&vec![f32::NAN; (width * height) as usize])?;
    let blocks = (case.rows * case.columns) as usize;
    let fetched = upload(&vec![0u32; blocks])?;
    let (a_there, b_there) = (upload(&a)?, upload(&b)?);
    let arguments = [
        pointer(&a_there),
        pointer(&b_there),
        pointer(&c),
        pointer(&fetched),
        U32(case.terms),
    ];
    let shape = LaunchExtents {
        grid: [case.rows, case.columns, 1],
        threads: PRODUCT_THREADS,
        shared_bytes: PRODUCT_SHARED_BYTES,
    };
    device.allow_shared_bytes(kernel, PRODUCT_SHARED_BYTES)?;
    // SAFETY: the kernel's parameters, and operands of the grid's shape.
    unsafe { device.run_in_clusters(kernel, shape, cluster, &arguments)? };
    let at = |panel: u32, edge: u32, term: u32, place: u32| {
        ((panel * case.terms + term) * edge + place) as usize
    };
    for (i, found) in (0..).zip(download(&c)?) {
        let (row, column) = (i / width, i % width);
        let term = |term| {
            let a = a[at(row / PRODUCT_ROWS, PRODUCT_ROWS, term, row % PRODUCT_ROWS)];
            a * b[at(
                column / PRODUCT_COLUMNS,
                PRODUCT_COLUMNS,
                term,
                column % PRODUCT_COLUMNS,
            )]
        };
        let expected: f32 = (0..case.terms).map(term).sum();
        ensure!(
            found == expected,
            "{kernel}, clusters of {cluster}: element ({row}, {column}) is {found}, not {expected}"
        );
    }
    let shared = if kernel == KERNELS[0] { 1 } else { cluster };
    let own = 4 * case.terms * (PRODUCT_ROWS + PRODUCT_COLUMNS / shared);
    ensure!(
        download(&fetched)? == vec![own; blocks],
        "{kernel}, clusters of {cluster}: not {own} bytes for each block"
    );
    Ok(())
}

#[test]
fn every_kernel_computes_the_product_in_clusters_of_every_size() -> Result<()> {
    let device = TestDevice::open(SM_90)?;
    for kernel in KERNELS {
        // One block shares with no other.
        let least = if kernel == KERNELS[0] { 1 } else { 2 };
        for cluster in [1, 2, 4, 8].into_iter().filter(|&blocks| blocks >= least) {
            // One tile, as many as stages, and several times around the ring; more than one cluster in each direction.
            for (rows, columns, tiles) in [(8, 1, 1), (8, 1, 6), (16, 2, 15), (8, 1, 3)] {
                let terms = tiles * PRODUCT_TERMS;
                let case = ClusterCase {
                    rows,
                    columns,
                    terms,
                };
                check(&device, kernel, cluster, case)?;
            }
        }
    }
    Ok(())
}
