//! What becomes of a host function that calls CUDA, and of one that fails.

use super::Roles;
use super::calls::Calls;
use super::function::NotANumber;
use anyhow::{Context, Result};
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use examples_host::answer::answer;
use examples_host::prelude::*;
use std::sync::{Arc, mpsc};

/// A function that queries a stream and waits for the device.
pub fn call_inside(part: &mut Part) -> Result<()> {
    let stream = Arc::new(stream::non_blocking()?.named("function"));
    let (answers, answered) = mpsc::channel();
    let (called, watched) = part.watch(|| {
        let inside = Arc::clone(&stream);
        stream.launch_host_function(move || {
            let query = answer(inside.is_idle());
            let wait = answer(CurrentContext::synchronize());
            let _ = answers.send([query, wait]);
        })?;
        stream.synchronize()
    });
    called?;
    let [query, wait] = answered.recv().context("the function was not called")?;
    part.say(format!(
        "A host function must not call CUDA. Inside one, cuStreamQuery returns {query},\n\
         cuCtxSynchronize {wait}. A driver may let calls pass: do not count on an error."
    ));
    let refused = exactly(wait, "CUDA_ERROR_NOT_PERMITTED");
    expect! { part; "inside/wait-refused", "waiting for the device inside a function is refused" => refused; }
    if let Watched::Checked(reports) = watched {
        let found = format!("{} reports", reports.len());
        let mut texts = reports.iter().map(|report| &report.text);
        let reported = texts.any(|text| text.contains("host function"));
        let reported = truth(reported, found, "at least one");
        expect! { part; "inside/reported", "the checker reports calls inside a function" => reported; }
    }
    Ok(())
}

/// A function that cannot work on a chunk in the middle.
pub fn propagate(part: &mut Part, work: &mut Calls, roles: Roles) -> Result<()> {
    let chunks = &work.pipeline.chunks;
    let (chunk, index) = (chunks.len() / 2, chunks[0].len() / 3);
    let place = chunks[chunk].start + index;
    let mut spoilt = work.pipeline.input.index(place..=place);
    spoilt.copy_from(&[f32::NAN])?;
    work.poison()?;
    CurrentContext::synchronize()?;

    work.called_by("failing").callbacks(roles)?;
    let streams = roles.into_iter().try_for_each(Stream::synchronize);
    let outcome = work.function.outcome();

    part.say(format!(
        "Element {index} of chunk {chunk} is not a number. The function has no caller to return an error to: it leaves it for\n\
         the program, and does nothing for later chunks. The streams run on: waiting for them gives {}.",
        answer(streams),
    ));
    let found = match &outcome {
        Ok(()) => "nothing".to_owned(),
        Err(NotANumber { chunk, index }) => format!("chunk {chunk}, element {index}"),
    };
    let right = outcome == Err(NotANumber { chunk, index });
    let reached = truth(right, found, "the one that is not a number");
    let done = work.function.calls().len();
    let ended = truth(done == chunk, format!("{done} were"), format!("{chunk}, those before"));
    expect! { part;
        "failure/reaches-program", "the function's error reaches the program" => reached;
        "failure/no-later-chunk", "no later chunk was worked on" => ended;
    }
    Ok(())
}
