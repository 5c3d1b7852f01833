//! Attention over prefetched pages: near the reference, and the same bits by every kernel with every number of stages.

mod support;

use anyhow::{Result, ensure};
use gpu_kernels::{
    KV_CONSUMERS, KV_HEAD_DIM, KV_MAX_PAGES, KV_MAX_STAGES, KV_PAGE_TOKENS, KV_STAGE_BYTES,
    KV_THREADS, SM_90, Signature as _,
};
use support::LaunchArgument::{self, F32, Pointer, U32};
use support::{LaunchExtents, TestDevice, download, near, numbers, pointer, upload};

const DIM: usize = KV_HEAD_DIM as usize;
const TILE: usize = KV_PAGE_TOKENS as usize * DIM;
const SCALE: f32 = 0.09;

/// The pages of all sequences, and the result of attention.
struct AttentionCase {
    heads: usize,
    sequences: usize,
    pages: usize,
    pool: Vec<f32>,
    queries: Vec<f32>,
}

impl AttentionCase {
    fn new(heads: usize, sequences: usize, pages: usize) -> Self {
        Self {
            heads,
            sequences,
            pages,
            pool: numbers(5, sequences * pages * 2 * heads * TILE),
            queries: numbers(6, sequences * heads * DIM),
        }
    }

    /// Where in the pool a page of a sequence begins: the last page comes first.
    fn first(&self, sequence: usize, page: usize) -> usize {
        (self.sequences * self.pages - 1 - (sequence * self.pages + page)) * 2 * self.heads * TILE
    }

    fn expected(&self) -> Vec<f64> {
        let mut expected = Vec::new();
        for row in 0..self.sequences * self.heads {
            let (sequence, head) = (row / self.heads, row % self.heads);
            let (mut total, mut sums) = (0.0, [0.0; DIM]);
            for token in 0..self.pages * KV_PAGE_TOKENS as usize {
                let (page, slot) = (
                    token / KV_PAGE_TOKENS as usize,
                    token % KV_PAGE_TOKENS as usize,
                );
                let key = self.first(sequence, page) + head * TILE + slot * DIM;
                let value = key + self.heads * TILE;
                let product = |i| f64::from(self.queries[row * DIM + i] * self.pool[key + i]);
                let weight = ((0..DIM).map(product).sum::<f64>() * f64::from(SCALE)).exp();
                total += weight;
                for (i, sum) in sums.iter_mut().enumerate() {
                    *sum += weight * f64::from(self.pool[value + i]);
                }
            }
            expected.extend(sums.map(|sum| sum / total));
        }
        expected
    }
}

fn run(
    device: &TestDevice,
    case: &AttentionCase,
    kernel: &str,
    stages: u32,
    witnessed: bool,
) -> Result<Vec<f32>> {
    let pool = upload(&case.pool)?;
    let Pointer(start) = pointer(&pool) else {
        unreachable!("a pointer is one")
    };
    let places = (0..case.sequences * case.pages)
        .map(|page| case.first(page / case.pages, page % case.pages) as u64);
    let table = upload(&places.map(|first| start + 4 * first).collect::<Vec<u64>>())?;
    let (queries, output) = (
        upload(&case.queries)?,
        upload(&vec![f32::NAN; case.queries.len()])?,
    );
    let stamps = upload(&vec![0u64; 2 * case.pages])?;
    let to = if witnessed {
        pointer(&stamps)
    } else {
        Pointer(0)
    };
    let mut arguments: Vec<LaunchArgument> = vec![
        pointer(&table),
        U32(case.pages as u32),
        pointer(&queries),
        pointer(&output),
        F32(SCALE),
    ];
    let threads = match stages {
        0 => KV_CONSUMERS,
        _ => KV_THREADS,
    };
    if stages > 0 {
        arguments.extend([U32(stages), to]);
    }
    let shape = LaunchExtents {
        grid: [case.heads as u32, case.sequences as u32, 1],
        threads,
        shared_bytes: stages * KV_STAGE_BYTES,
    };
    device.allow_shared_bytes(kernel, shape.shared_bytes)?;
    // SAFETY: the kernel's parameters, and buffers of the case's lengths.
    unsafe { device.run(kernel, shape, &arguments)? };
    let stamps = download(&stamps)?;
    ensure!(
        stamps.iter().all(|stamp| (*stamp > 0) == witnessed),
        "{kernel}: a page without a stamp"
    );
    download(&output)
}

#[test]
fn every_kernel_gives_the_same_bits_near_the_reference() -> Result<()> {
    let device = TestDevice::open(SM_90)?;
    for (heads, sequences, pages) in [(1, 1, 1), (2, 3, 2), (1, 1, 19)] {
        let case = AttentionCase::new(heads, sequences, pages);
        let direct = run(
            &device,
            &case,
            gpu_kernels::attention_direct::NAME,
            0,
            false,
        )?;
        near("direct", &direct, &case.expected(), 1e-5)?;
        let staged = run(
            &device,
            &case,
            gpu_kernels::attention_staged::NAME,
            0,
            false,
        )?;
        ensure!(staged == direct, "staged: other bits, {pages} pages");
        let prefetched = gpu_kernels::attention_prefetched::NAME;
        for (stages, witnessed) in [(1, false), (2, true), (3, false), (KV_MAX_STAGES, true)] {
            let found = run(&device, &case, prefetched, stages, witnessed)?;
            ensure!(
                found == direct,
                "{stages} stages: other bits, {pages} pages"
            );
        }
    }
    Ok(())
}

#[test]
fn a_sequence_may_have_as_many_pages_as_promised() -> Result<()> {
    let (device, case) = (
        TestDevice::open(SM_90)?,
        AttentionCase::new(1, 1, KV_MAX_PAGES as usize),
    );
    let found = run(
        &device,
        &case,
        gpu_kernels::attention_prefetched::NAME,
        4,
        true,
    )?;
    near("256 pages", &found, &case.expected(), 1e-5)
}
