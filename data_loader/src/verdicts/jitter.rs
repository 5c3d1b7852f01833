//! jitter: what is a deeper ring good for?
//!
//! Real loads vary: a file is cold, an image is large. Here every fourth one takes nine times as long as the others, and all
//! together take less than the kernels. A ring of depth 2 is empty before the long load is over, and the GPU waits; a deeper one
//! has been filled meanwhile by the short loads:
//!
//! ```text
//! depth 2  load    |L l L llllllll            depth 4  load    |L l L llllllllL l L
//!          kernel  |  KKKkkkKKK    kkk                 kernel  |  KKKkkkKKKkkkKKKkkk
//! ```
//!
//! The depth that is needed is what the long load takes, in kernels. That a deeper ring gains nothing, or that it gains as much
//! while loads are equal, would prove this wrong.

use super::loader::{self, BATCHES, Loader};
use super::loading::{Feed, expect_loading, idle};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::compare::Variants;
use examples_host::identity::Differ;
use examples_host::prelude::*;

/// What the loads take, in kernels, again and again.
const LOADS: [f64; 4] = [0.3, 0.3, 0.3, 2.7];
const DEPTHS: [usize; 3] = [1, 2, 4];

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [copy, compute] = &stream::non_blocking_named(["copy", "compute"])?;
    let streams = [copy, compute];
    let feeds = DEPTHS.map(|depth| Feed { threads: 1, depth });
    let mut loader = Loader::new(part, feeds[2])?;
    let loading = loader.measure(part, streams, |batch| LOADS[batch % LOADS.len()])?;
    let [short, long, kernel] =
        [loading.loads[0], loading.loads[3], loading.kernel].map(units::time);
    part.predict(format!(
        "Three loads take {short}, the fourth {long}, a kernel {kernel}: on average a load is shorter. A ring of depth 4 lets \
         the short loads run ahead, and the long one is over before the ring is empty.",
    ));

    let device = part.device();
    let variants = feeds.map(|feed| {
        let name = (format!("depth-{}", feed.depth), format!("depth {}", feed.depth));
        let run = move |loader: &mut Loader| loader.run(device, feed, streams);
        variant(name, streams, run).waits(BATCHES)
    });
    let variants = Variants::differing(&[Differ::HostWork, Differ::Order], variants);
    let outcomes = part.compare("variants", loader::plan(), &mut loader, variants)?;
    expect_loading(part, &outcomes, feeds, &loading);
    for outcome in outcomes.iter().rev() {
        part.chart(&outcome.name, &outcome.recording, Rows::Streams);
    }
    let [_, two, four] = &outcomes;
    let idle = |outcome: &MeasuredVariant| share(idle(&outcome.recording));
    expect! { part;
        "waits/depth-2", "depth 2: the GPU waits for the long loads" => idle(two).at_least(0.1);
        "fed/depth-4", "depth 4: the GPU hardly waits" => idle(four).at_most(0.05);
        "gain/depth-4", "depth 2 to depth 4: gain" => four.undisturbed_speedup_over(two).at_least(1.08);
    }
    part.take_away("A deep ring evens out loads that vary; it does not make slow loads faster.");
    Ok(())
}
