//! callback-waits: a function that the stream calls waits for that stream.
//!
//! ```text
//! racy    first  |KKKKKKDDDDDD f: wait for first    fixed   first  |KKKKKKDDDDDD f: take the result
//! ```
//!
//! The stream goes on when the function has returned, and the function returns when the stream has gone on: a driver may
//! refuse such a call, or let it wait for ever. So the racy function asks a limited number of times. The wait is needless,
//! too: what is before the function is done.

use crate::data::{Data, transformed};
use crate::pair::{Outcome, Pair, Program};
use examples_host::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let pair = Pair {
        prediction: "The driver refuses the wait, or it never ends: the function gives up without a result.",
        report_names: &["host function", "CUDA_ERROR_NOT_PERMITTED"],
    };
    pair.run(part, program)
}

fn program(which: Program, data: &mut Data) -> anyhow::Result<Outcome> {
    let mut batch = data.buffer(&data.first)?;
    let mut output = HostBuffer::page_locked(data.first.device(), data.len())?;
    batch.copy_from(&data.input)?;
    data.kernels.transform(&mut batch)?;
    batch.copy_to(&mut output)?;

    let taken = Arc::new(Mutex::new(vec![f32::NAN; data.len()]));
    let (result, stream) = (Arc::clone(&taken), data.first.clone());
    let output = Arc::new(Mutex::new(output));
    let landed = Arc::clone(&output);
    data.first.call_host(move || {
        if which == Program::Racy && !ends(&stream) {
            return;
        }
        let landed = landed.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the copy is before this function in the stream, so it has finished.
        *result.lock().unwrap_or_else(PoisonError::into_inner) = unsafe { landed.read_unordered() };
    })?;
    data.first.synchronize()?;
    let taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(check::equal("the result", 0, &taken, transformed))
}

/// Waits for the stream until it is idle, refuses to say, or has been asked often enough.
fn ends(stream: &Stream) -> bool {
    for _ in 0..1000 {
        match stream.is_idle() {
            Ok(false) => std::thread::yield_now(),
            Ok(true) => return true,
            Err(_) => return false,
        }
    }
    false
}
