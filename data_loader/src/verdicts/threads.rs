//! threads: what helps when loading is too slow?
//!
//! A load takes longer than three kernels. However deep the ring is, one thread delivers a batch only that often, and the GPU is
//! idle for most of the time. Each further thread loads another batch meanwhile, into a ring of its own:
//!
//! ```text
//! 1 thread   thread 0 |LLLLLLLLllllllll        4 threads  thread 0 |LLLLLLLLllllllll
//!            kernel   |        KK      kk                 thread 1 |  LLLLLLLLllllllll
//!                                                         thread 2 |    LLLLLLLLllllllll
//!                                                         thread 3 |      LLLLLLLLllllllll
//!                                                         kernel   |        KKkkKKkkKKkkKK
//! ```
//!
//! With T threads a batch takes L / T, but not less than the kernel. The threads share the two streams, in which the batches follow
//! one another as they arrive. More threads without less idle time, or a deeper ring with less, would prove this wrong.

use super::loader::{self, BATCHES, Loader};
use super::loading::{Feed, expect_loading, idle};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::compare::Variants;
use examples_host::identity::Differ;
use examples_host::prelude::*;

/// A load takes this many kernels.
const LOAD: f64 = 3.4;
const FEEDS: [Feed; 4] = [
    Feed { threads: 1, depth: 1 },
    Feed { threads: 1, depth: 4 },
    Feed { threads: 2, depth: 1 },
    Feed { threads: 4, depth: 1 },
];

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [copy, compute] = &stream::non_blocking_named(["copy", "compute"])?;
    let streams = [copy, compute];
    let mut loader = Loader::new(part, Feed { threads: 4, depth: 4 })?;
    let loading = loader.measure(part, streams, |_| LOAD)?;
    let [load, kernel] = [loading.loads[0], loading.kernel].map(units::time);
    part.predict(format!(
        "A load takes {load}, a kernel {kernel}. One thread keeps the GPU waiting, whatever the depth; four threads load \
         faster than the GPU works.",
    ));

    let device = part.device();
    let variants = FEEDS.map(|feed| {
        let Feed { threads, depth } = feed;
        let plural = if threads == 1 { "" } else { "s" };
        let name = (
            format!("threads-{threads}-depth-{depth}"),
            format!("{threads} thread{plural}, depth {depth}"),
        );
        let run = move |loader: &mut Loader| loader.run(device, feed, streams);
        variant(name, streams, run).waits(BATCHES)
    });
    let differ = &[Differ::Threads, Differ::HostWork, Differ::Order];
    let variants = Variants::differing(differ, variants);
    let outcomes = part.compare("variants", loader::plan(), &mut loader, variants)?;
    expect_loading(part, &outcomes, FEEDS, &loading);
    for outcome in outcomes.iter().rev() {
        // Which of two threads' calls for one stream is noted first depends on the machine.
        let (dependencies, calls) = (Vec::new(), Vec::new());
        let recording = Recording { dependencies, calls, ..outcome.recording.clone() };
        part.chart(&outcome.name, &recording, Rows::Streams);
    }
    let [one, deep, two, four] = &outcomes;
    expect! { part;
        "no-gain/deep", "one thread, depth 1 to depth 4: no gain" => deep.undisturbed_speedup_over(one).at_most(1.05);
        "gain/two", "one thread to two: gain" => two.undisturbed_speedup_over(one).at_least(1.7);
        "fed/four", "four threads: the GPU hardly waits" => share(idle(&four.recording)).at_most(0.08);
    }
    part.take_away("When loading is too slow on average, only more threads help.");
    Ok(())
}
