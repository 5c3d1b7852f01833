//! Claims of the part `circular-wait`.

use crate::circular_wait::{ROUNDS, STEPS, StreamPair};
use anyhow::Result;
use examples_host::prelude::*;
use examples_host::twins::{Program, TwinResult};
use gpu_kernels::{FACTOR, SUMMAND};
use std::array;

const DATA: Seed = Seed::new(8);

fn program(which: Program, pair: &mut StreamPair) -> Result<TwinResult> {
    match which {
        Program::Racy => pair.circle()?,
        Program::Fixed => pair.in_order()?,
    }
    let steps = 2 * ROUNDS as u32 * STEPS;
    let expected = |i| (0..steps).fold(DATA.f32(i), |x: f32, _| x.mul_add(FACTOR, SUMMAND));
    Ok(check::equal("the result", 0, &pair.y.as_host_vec()?, expected))
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    part.predict(
        "The circle ends like any program: a wait for an event that was not recorded waits for\n\
         nothing. In each round, the second kernel does not wait for the first.",
    );
    part.twins(
        &["kernel `fma_chain`", "stream `a`", "stream `b`"],
        |_| StreamPair::new(&array::from_fn(|i| DATA.f32(i))),
        program,
    )?;
    part.take_away("Events cannot deadlock, but a wait before its record orders nothing.");
    Ok(())
}
