//! Running the two programs of a pair, and the expected results.

use crate::data::{A, B, Data, Program, ROUNDS};
use anyhow::{Result, bail};
use examples_host::options::UsageError;
use examples_host::prelude::*;
use examples_host::twins::{self, TwinResult};

const BATCH: Seed = Seed::new(11);

/// Bytes of a batch.
const DEFAULT: ByteSize = ByteSize::mib(1);
/// A smaller copy has ended before the next call, and most mistakes do no harm.
const LEAST: ByteSize = ByteSize::kib(512);
const MOST: ByteSize = ByteSize::mib(256);

/// An element of the batch.
pub fn given(index: usize) -> f32 {
    BATCH.f32(index)
}

/// The result of the kernel for it.
pub fn transformed(index: usize) -> f32 {
    (0..ROUNDS).fold(given(index), |x, _| x.mul_add(A, B))
}

/// Runs both programs, each on fresh data, and claims the difference between them, as [`Part::twins`] does.
pub fn pair(
    part: &mut Part,
    named: &[&str],
    mut program: impl FnMut(Program, &mut Data) -> Result<TwinResult>,
) -> Result<()> {
    part.twins(named, fresh, |which, data| match which {
        twins::Program::Racy => program(Program::Racy, data),
        twins::Program::Fixed => program(Program::Fixed, data),
    })
}

/// Fresh data, with the batch.
fn fresh(part: &Part) -> Result<Data> {
    let size = part.size(DEFAULT);
    if !(LEAST..=MOST).contains(&size) {
        bail!(UsageError(format!("--size {size}: the mistakes show with {LEAST} to {MOST}")));
    }
    let mut data = Data::new(part.elements::<f32>(DEFAULT)?)?;
    BATCH.fill_f32(0, &mut data.input);
    Ok(data)
}
