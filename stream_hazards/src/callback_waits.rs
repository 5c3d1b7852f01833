//! callback-waits: a function that the stream calls waits for that stream.
//!
//! ```text
//! racy    pipeline |HHHHKKKKKKDDDD f: wait for pipeline    fixed   pipeline |HHHHKKKKKKDDDD f: take the result
//! ```
//!
//! The stream continues when the function has returned, and the function returns when the stream has gone on: a driver may
//! refuse such a call, or let it wait for ever. So the racy function polls a limited number of times. The wait is needless,
//! too: what comes before the function has finished when it is called.
//!
//! A function that waits and gets a result would prove this wrong.

use crate::data::{A, B, Data, Program, ROUNDS, THREADS};
use anyhow::Result;
use cuda_host::prelude::*;
use std::sync::{Arc, mpsc::Sender};

/// The function sends the result to the host.
pub fn program(which: Program, data: &mut Data, result: Sender<Vec<f32>>) -> Result<()> {
    let stream = Arc::new(stream::non_blocking()?.named("pipeline"));
    let mut output = LockedBuffer::new(&f32::NAN, data.batch.len())?;
    // SAFETY: all memory outlives the host's wait, and one stream orders its uses.
    unsafe {
        data.batch.async_copy_from(&data.input, &stream)?;
        launch!(data.kernels.affine_rounds_x4<<<data.blocks, THREADS, 0, stream>>>(&mut data.batch, A, B, ROUNDS))?;
        data.batch.async_copy_to(&mut output, &stream)?;
    }
    // This thread keeps a share of both: a function in a stream may not free them.
    let output = Arc::new(output);
    let (own, landed) = (Arc::clone(&stream), Arc::clone(&output));
    stream.launch_host_function(move || {
        match which {
            Program::Racy if !ends(&own) => return,
            _ => {}
        }
        let _ = result.send(landed.to_vec());
    })?;
    Ok(stream.synchronize()?)
}

/// Asks whether the stream is idle until it is, until the driver refuses to answer, or 1000 times.
fn ends(stream: &Stream) -> bool {
    (0..1000).map(|_| stream.is_idle()).find(|answer| *answer != Ok(false)) == Some(Ok(true))
}
