//! Claims of the part `refused`.

use crate::refused::{self, CaptureObjects, recover};
use anyhow::Result;
use cust::error::CudaResult;
use examples_host::answer::answer;
use examples_host::prelude::*;

/// A rule: the name of the program that breaks it, what the driver says, and what to do instead.
struct CaptureRule {
    id: &'static str,
    program: fn(&CaptureObjects) -> CudaResult<()>,
    error: &'static str,
    instead: &'static str,
}

const RULES: [CaptureRule; 8] = [
    CaptureRule {
        id: "wait-for-the-stream",
        program: refused::wait_for_the_stream,
        error: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        instead: "wait behind the launch",
    },
    CaptureRule {
        id: "ask-for-an-event",
        program: refused::ask_for_an_event,
        error: "CUDA_ERROR_CAPTURED_EVENT",
        instead: "record it behind the launch",
    },
    CaptureRule {
        id: "allocate",
        program: refused::allocate,
        error: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        instead: "allocate before the capture",
    },
    CaptureRule {
        id: "fork-without-join",
        program: refused::fork_without_join,
        error: "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
        instead: "make the first stream wait",
    },
    CaptureRule {
        id: "end-in-the-fork",
        program: refused::end_in_the_fork,
        error: "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
        instead: "end it where it began",
    },
    CaptureRule {
        id: "wait-for-the-outside",
        program: refused::wait_for_the_outside,
        error: "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
        instead: "wait before the launch",
    },
    CaptureRule {
        id: "wait-for-another-capture",
        program: refused::wait_for_another_capture,
        error: "CUDA_ERROR_STREAM_CAPTURE_MERGE",
        instead: "fork both from one stream",
    },
    CaptureRule {
        id: "use-the-legacy-stream",
        program: refused::use_the_legacy_stream,
        error: "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
        instead: "use a non-blocking stream",
    },
];

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    part.predict(
        "Each program breaks a rule of capture. The driver names the rule, the capture gives no\n\
         graph, and the streams work again.",
    );
    let mut table = Table::new(["program", "error", "instead"]);
    let (mut answers, mut working, mut streams) = (Vec::new(), 0, 0);
    for CaptureRule { id, program, error, instead } in RULES {
        let scene = CaptureObjects::new()?;
        let said = answer(program(&scene));
        let short = said.trim_start_matches("CUDA_ERROR_").trim_start_matches("STREAM_");
        table.row([id.replace('-', " "), short.to_owned(), instead.to_owned()]);
        answers.push((id, said, error));
        working += recover(&scene)?;
        streams += 3;
    }
    part.say(table);
    for (id, said, error) in answers {
        let name = id.replace('-', " ");
        expect! { part; "refused/{id}", "{name}: refused" => exactly(said, error); }
    }
    let all = truth(working == streams, format!("{working} of {streams}"), "all");
    expect! { part; "working-again", "streams that work again after the error" => all; }
    part.take_away(
        "Capture work only: no waiting, no asking, no allocating, and join what was forked.",
    );
    Ok(())
}
