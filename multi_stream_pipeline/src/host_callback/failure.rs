//! What becomes of a host function that calls CUDA, and of one that fails.

use super::Roles;
use super::line::NotANumber;
use super::work::Work;
use anyhow::Context;
use examples_host::prelude::*;
use std::sync::mpsc;

/// A function that asks for a stream's state and waits for the device.
pub fn call_inside(part: &mut Part) -> anyhow::Result<()> {
    let device = part.device().clone();
    let stream = Stream::non_blocking(&device, "function")?;
    let (answers, answered) = mpsc::channel();
    let (called, watched) = part.watch(|| {
        let queried = stream.clone();
        stream.call_host(move || {
            let query = queried.is_idle().map(drop);
            let wait = device.synchronize();
            let _ = answers.send([query, wait].map(answer));
        })?;
        stream.synchronize()
    });
    called?;
    let [query, wait] = answered.recv().context("the function was not called")?;
    part.say(format!(
        "A host function must not call CUDA. Inside one, cuStreamQuery gives {query},\n\
         cuCtxSynchronize {wait}. A driver may let calls pass: do not count on an error."
    ));
    let refused = wait.contains("CUDA_ERROR_NOT_PERMITTED");
    part.claim(
        "inside/wait-refused",
        "waiting for the device inside a function is refused",
        refused,
        wait,
        "CUDA_ERROR_NOT_PERMITTED",
    );
    if let Watched::Checked(reports) = watched {
        let reported = reports
            .iter()
            .any(|report| report.text.contains("host function"));
        let made = format!("{} reports", reports.len());
        part.claim(
            "inside/reported",
            "the checker reports calls inside a function",
            reported,
            made,
            "at least one",
        );
    }
    Ok(())
}

fn answer(result: Result<()>) -> String {
    match result {
        Ok(()) => "no error".to_owned(),
        Err(Error::Driver { name, .. }) => name,
        Err(other) => other.to_string(),
    }
}

/// A function that cannot work on a chunk in the middle.
pub fn propagate(part: &mut Part, work: &mut Work, roles: Roles) -> anyhow::Result<()> {
    let chunks = work.input.len();
    let spoilt = NotANumber {
        chunk: chunks / 2,
        index: work.input[chunks / 2].len() / 3,
    };
    work.spoil(spoilt.chunk, spoilt.index)?;
    work.poison()?;
    work.issue(|work| work.by_callbacks(roles))?;
    let streams = roles.into_iter().try_for_each(Stream::synchronize);
    let outcome = work.line.outcome();
    part.say(format!(
        "Element {} of chunk {} is not a number. The function has nobody to return an error to: it leaves it for the\n\
         program, and does nothing for later chunks. The streams run on: waiting for them gives {}.",
        spoilt.index,
        spoilt.chunk,
        answer(streams),
    ));
    let found = match &outcome {
        Ok(()) => "nothing".to_owned(),
        Err(NotANumber { chunk, index }) => format!("chunk {chunk}, element {index}"),
    };
    let right = outcome == Err(spoilt.clone());
    part.claim(
        "failure/reaches-program",
        "the function's error reaches the program",
        right,
        found,
        "the one that is not a number",
    );
    let done = work.line.calls().len();
    let limit = format!("{}, those before", spoilt.chunk);
    part.claim(
        "failure/no-later-chunk",
        "no later chunk was worked on",
        done == spoilt.chunk,
        format!("{done} were"),
        limit,
    );
    work.fill(spoilt.chunk)?;
    Ok(())
}
