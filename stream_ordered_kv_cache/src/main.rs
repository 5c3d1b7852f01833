//! How can one stream write a cache of keys and values while another reads it?
//!
//! A language model that generates text keeps the keys and values of all earlier tokens, layer by layer: each new token
//! appends its own and attends to the others'. The cache lies in pages that are allocated as it grows. This example
//! asks what the order between writing and reading costs, and what may run at the same time. Each part predicts,
//! measures, and says whether its lesson holds on this device.

mod append;
mod cache;
mod growth;
mod prefetch;
mod sequences;
mod verdicts;

use examples_host::part_option::PartOption::{Chunks, Iterations, Size};
use examples_host::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    Example::new(
        "stream_ordered_kv_cache",
        "A cache of keys and values that one stream writes while another reads it",
    )
    .part(
        "append",
        "What does it cost to append a token before the next attention reads it?",
        &[Iterations, Size, Chunks],
        verdicts::append::run,
    )
    .part(
        "prefetch",
        "Can the next layer's pages come from the host while this layer's are read?",
        &[Iterations, Size, Chunks],
        verdicts::prefetch::run,
    )
    .part(
        "growth",
        "What does a cache take that grows page by page?",
        &[Size, Chunks],
        verdicts::growth::run,
    )
    .needs(&[Need::MemoryPools])
    .main()
}
