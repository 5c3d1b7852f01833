//! The words of the language, for the completion of a student's input.

use crate::kernels::{KERNELS, Kernel};
use serde_json::{Value, json};

/// All calls, for messages.
pub(crate) const CALLS: &str = "The calls are copy, free, record, wait, synchronize, begin_capture, end_capture, launch, zero, \
                                fill, cpu_work, hand_in and hand_in_time.";

/// A word, how it is written, and what it does. `.` begins the call of an object.
const WORDS: [(&str, &str, &str); 25] = [
    ("let", "let CHUNKS = 16", "a whole number"),
    (
        "stream",
        "stream work",
        "cuStreamCreate: ignores the legacy default stream",
    ),
    (
        "blocking stream",
        "blocking stream work",
        "cuStreamCreate: synchronises with the legacy default stream",
    ),
    ("event", "event copied", "cuEventCreate"),
    (
        "timed event",
        "timed event start, end",
        "cuEventCreate: takes the time",
    ),
    (
        "device",
        "device data[N]",
        "cuMemAlloc; with `in STREAM`: cuMemAllocAsync",
    ),
    (
        "pinned",
        "pinned input[N]",
        "cuMemAllocHost: page-locked memory of the host",
    ),
    (
        "pageable",
        "pageable input[N]",
        "ordinary memory of the host",
    ),
    ("for", "for chunk in 0..CHUNKS {", "a loop"),
    (
        "graph",
        "graph step = work.end_capture()",
        "cuStreamEndCapture, cuGraphInstantiate",
    ),
    ("legacy", "legacy", "the legacy default stream"),
    (
        ".copy",
        "copy(TO, FROM)",
        "cuMemcpyHtoDAsync, cuMemcpyDtoHAsync, cuMemcpyDtoDAsync",
    ),
    (".free", "free(MEMORY)", "cuMemFreeAsync"),
    (".record", "record(STREAM)", "cuEventRecord"),
    (".wait", "wait(EVENT)", "cuStreamWaitEvent"),
    (
        ".synchronize",
        "synchronize()",
        "cuStreamSynchronize, cuEventSynchronize",
    ),
    (".begin_capture", "begin_capture()", "cuStreamBeginCapture"),
    (".launch", "launch(STREAM)", "cuGraphLaunch"),
    (
        "pool.keep",
        "pool.keep(BYTES)",
        "the release threshold of the device's default pool",
    ),
    (
        "copy",
        "copy(TO, FROM)",
        "cuMemcpyHtoD, cuMemcpyDtoH, cuMemcpyDtoD: blocks the host",
    ),
    ("zero", "zero(MEMORY)", "cuMemsetD32"),
    ("free", "free(MEMORY)", "cuMemFree, cuMemFreeHost"),
    ("synchronize", "synchronize()", "cuCtxSynchronize"),
    (
        "fill",
        "fill(MEMORY, BATCH)",
        "the host writes a batch of data",
    ),
    ("hand_in", "hand_in(MEMORY)", "the host reads the result"),
];

/// The words and the kernels as JSON.
pub fn in_json() -> Value {
    let words = WORDS.map(|(word, form, does)| json!({ "word": word, "form": form, "does": does }));
    let kernel = |kernel: &Kernel| {
        let names: Vec<&str> = kernel.parameters.iter().map(|(name, _)| *name).collect();
        let form = format!(
            "{}<<<BLOCKS, THREADS, 0, STREAM>>>({})",
            kernel.name,
            names.join(", ")
        );
        json!({ "word": kernel.name, "form": form, "does": kernel.does })
    };
    let kernels: Vec<Value> = KERNELS.iter().map(kernel).collect();
    json!([words.as_slice(), kernels.as_slice()].concat())
}
