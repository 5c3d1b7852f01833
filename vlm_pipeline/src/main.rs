//! How does the vision side of a model keep up with its images?
//!
//! Before a language model sees an image, its patches become tokens: the more a patch has to do with the question, the more of them.
//! An image comes over the link, four small kernels work on it, and its tokens go out. Images do not depend on each other, so the next
//! one can come meanwhile. The part predicts, measures, and says whether its lesson holds on this device.

mod images;
mod slot;
mod verdicts;

use examples_host::part_option::PartOption::Iterations;
use examples_host::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    Example::new("vlm_pipeline", "From images to tokens")
        .part("images", "What do images gain that overlap?", &[Iterations], verdicts::images::run)
        .main()
}
