//! Claims of the part `declarations`.

use crate::declarations::{DeclaredBatch, ELEMENTS, ROUNDS, X};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;
use examples_host::twins::Program;
use gpu_kernels::{FACTOR, SUMMAND};

const DATA: Seed = Seed::new(32);

/// The result of the kernel for one element.
fn after(x: f32) -> f32 {
    (0..ROUNDS).fold(x, |x: f32, _| x.mul_add(FACTOR, SUMMAND))
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let streams = &stream::non_blocking_named(["copy in", "kernel", "copy out"])?;
    part.predict(
        "Without its read of x the kernel waits for nothing, and works on what was there before.",
    );
    let named = ["copy of", "kernel `fma_tiles_unspecialised`"];
    let data = |_: &Part| {
        let mut input = vec![0.0; ELEMENTS];
        DATA.fill_f32(0, &mut input);
        DeclaredBatch::new(&input)
    };
    part.twins(&named, data, |which, batch| {
        let declared = match which {
            Program::Racy => &[][..],
            Program::Fixed => &[X],
        };
        batch.pass(declared, &streams.each_ref())?;
        Ok(check::equal("the result", 0, &batch.output, |index| after(DATA.f32(index))))
    })?;
    part.take_away(
        "A derived schedule is as right as its declarations: test them under the race checker.",
    );
    Ok(())
}
