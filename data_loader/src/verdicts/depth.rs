//! Measurements and claims of the part `depth`.

use super::loader::{self, BATCHES, Loader};
use super::loading::{Feed, expect_loading, idle};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::compare::Variants;
use examples_host::identity::Differ;
use examples_host::prelude::*;

/// A load takes this share of the kernel's time.
const LOAD: f64 = 0.95;
const DEPTHS: [usize; 4] = [0, 1, 2, 4];

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [copy, compute] = &stream::non_blocking_named(["copy", "compute"])?;
    let streams = [copy, compute];
    let feeds = DEPTHS.map(|depth| Feed { threads: 1, depth });
    let mut loader = Loader::new(part, feeds[3])?;
    let loading = loader.measure(part, streams, |_| LOAD)?;
    let [load, hand_over, copied, kernel] =
        [loading.loads[0], loading.hand_over, loading.copy, loading.kernel].map(units::time);
    part.predict(format!(
        "Each batch: load {load}, hand-over {hand_over}, copy {copied}, kernel {kernel}. With d batches ahead, one takes the \
         sum divided by d + 1, but not less than the longest. So the GPU waits until depth 2, and no longer.",
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
    for outcome in [&outcomes[2], &outcomes[1], &outcomes[0], &outcomes[3]] {
        part.chart(&outcome.name, &outcome.recording, Rows::Streams);
    }
    let [none, _, two, _] = outcomes.each_ref().map(|outcome| share(idle(&outcome.recording)));
    expect! { part;
        "waits/depth-0", "depth 0: the GPU waits for the thread" => none.at_least(0.4);
        "fed/depth-2", "depth 2: the GPU hardly waits" => two.at_most(0.05);
        "enough/depth-2", "depth 2 to depth 4: no gain" => outcomes[3].undisturbed_speedup_over(&outcomes[2]).at_most(1.03);
    }
    part.take_away("One batch loading, one on its way, one at work: two ahead are enough while loads are equal.");
    Ok(())
}
