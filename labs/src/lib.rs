//! What the exercises have in common: their data, and the place where they hand in a result.
//!
//! An exercise is a program on plain `cust` (and `cuda-host` for what `cust` lacks). It needs two functions from here:
//! [`fill`] stands for data that arrives, and [`hand_in`] for the consumer of the result. Each compares nothing with what the
//! program did: [`hand_in`] compares every element with a reference on the CPU. Run by `cargo lab`, a program is recorded from
//! outside: see `recorder`. On a GPU it runs twice, and the second run is recorded: see `rehearsal`.

mod data;
mod gpus;
pub mod kv;
mod recorder;
mod reference;
mod rehearsal;

pub use cuda_host::host_function::Lent;
pub use data::{cpu_work, fill, given};
pub use examples_host::lent::in_place;
pub use gpus::two_gpus;

use anyhow::{Result, bail};
use chapter_results::lab::HandedIn;
use std::time::Duration;

/// Hands in the result, which the host reads now, and compares every element with the reference. With this call the lab is
/// over: what the device does later does not count.
///
/// # Errors
/// An element is wrong, or there are too few or too many of them.
#[track_caller]
pub fn hand_in(result: &[f32]) -> Result<()> {
    libcuda::host::reads(result.as_ptr().cast(), size_of_val(result));
    if rehearsal::is_under_way() {
        rehearsal::end();
    }
    let lab = recorder::lab();
    let Some(reference) = reference::of(&lab) else {
        bail!("there is no lab of the name {lab}");
    };
    let compared = reference.compare(result);
    recorder::finish(Some(&compared));
    let HandedIn { expected, elements, wrong, first } = compared;
    if elements != expected {
        bail!("{elements} elements were handed in, not {expected}");
    }
    if let Some((place, expected, got)) = first {
        bail!(
            "{wrong} of {elements} elements are wrong; the first is {place}: {got} instead of {expected}"
        );
    }
    if !recorder::is_recorded() {
        println!("All {elements} elements are right.");
    }
    Ok(())
}

/// Hands in a time that the program measured, under a name that the lab gives.
pub fn hand_in_time(name: &str, time: Duration) {
    println!("{name}: {:.3} ms", time.as_secs_f64() * 1e3);
    if !rehearsal::is_under_way() {
        recorder::time(name, time);
    }
}
