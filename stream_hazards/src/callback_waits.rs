//! callback-waits: a function that the stream calls waits for that stream.
//!
//! ```text
//! racy    pipeline |HHHHKKKKKKDDDD f: wait for pipeline    fixed   pipeline |HHHHKKKKKKDDDD f: take the result
//! ```
//!
//! The stream goes on when the function has returned, and the function returns when the stream has gone on: a driver may
//! refuse such a call, or let it wait for ever. So the racy function asks a limited number of times. The wait is needless,
//! too: what comes before the function has finished when it is called.

use crate::data::{A, B, Data, ROUNDS, THREADS, transformed};
use cuda_host::{launch, prelude::*};
use cust::memory::{AsyncCopyDestination, LockedBuffer};
use cust::stream::Stream;
use examples_host::prelude::*;
use examples_host::twins::{Outcome, Program};
use std::sync::{Arc, mpsc};

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "The driver refuses the wait, or it never ends: the function gives up without a result.",
    );
    let named = ["host function", "CUDA_ERROR_NOT_PERMITTED"];
    part.twins(&named, Data::new, program)
}

fn program(which: Program, data: &mut Data) -> anyhow::Result<Outcome> {
    let pipeline = Arc::new(stream::non_blocking()?.named("pipeline"));
    let (batch, blocks) = (&mut data.batch, data.blocks);
    let mut output = LockedBuffer::new(&f32::NAN, batch.len())?;
    // SAFETY: all memory outlives the host's wait, and one stream orders its uses.
    unsafe {
        batch.async_copy_from(&data.input, &pipeline)?;
        launch!(data.kernels.affine_rounds_x4<<<blocks, THREADS, 0, pipeline>>>(&mut *batch, A, B, ROUNDS))?;
        batch.async_copy_to(&mut output, &pipeline)?;
    }
    let (send, result) = mpsc::channel();
    let (own, output) = (Arc::clone(&pipeline), Arc::new(output));
    let landed = Arc::clone(&output);
    pipeline.launch_host_function(move || {
        match which {
            Program::Racy if !ends(&own) => return,
            _ => {}
        }
        let _ = send.send(check::equal("the result", 0, &landed, transformed));
    })?;
    pipeline.synchronize()?;
    let none = || check::equal("the result", 0, &data.output, transformed);
    Ok(result.try_recv().unwrap_or_else(|_| none()))
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
