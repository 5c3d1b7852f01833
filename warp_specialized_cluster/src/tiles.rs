//! tiles: what does sharing a tile gain over fetching it again?
//!
//! A block computes 4 rows and 512 columns of a matrix product. The blocks of a cluster lie along the rows, so all of them walk
//! down the same columns of B, tile by tile, through a ring of stages in shared memory: one thread fetches, four warps compute, and
//! mbarriers hand the stages to and fro. A tile of B comes to the four blocks of a cluster in one of three ways:
//!
//! ```text
//! global      block 0 |TTTT|      dsmem  block 0 |T>>>|      multicast  block 0 |T   |   T: a quarter of the tile from
//!             block 1 |TTTT|             block 1 |>T>>|                 block 1 | T  |      global memory (L2 cache)
//!             block 2 |TTTT|             block 2 |>>T>|                 block 2 |  T |   >: a quarter from a neighbour's
//!             block 3 |TTTT|             block 3 |>>>T|                 block 3 |   T|      shared memory
//! ```
//!
//! B stays in the L2 cache, whose bandwidth is what the first way needs most: the other two ask it for a quarter. A block that
//! writes into its neighbours' stages has to know that all of them have read what was there before: all computing warps of the
//! cluster arrive at the barrier of each block. Every block expects the bytes of the whole tile, whoever sends them. And no
//! block may exit before all have finished.
//!
//! What that gains in time is another question. On an H200 it gains nothing: the device merges neighbours' requests for the same line
//! before they reach the L2 cache. Of 63 million sectors that the blocks ask for in the first way, Nsight Compute counts 23 to 30 million
//! there. The software GPU's model merges what blocks of a cluster ask for at the same time. Passing tiles
//! on takes longer: between multiprocessors an H200 moves 15 bytes a clock for each of them, and the model 16.
//!
//! Results that differ in a bit, a shared tile that is fetched more than once, or a multicast that takes 15 % longer than
//! fetching everything, would prove this wrong.

use crate::product::{Shape, Way, Work};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;

/// Blocks of a cluster.
const CLUSTER: u32 = 4;

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [stream] = &stream::non_blocking_named(["product"])?;
    let shape = Shape::of(part, (1, 320))?;
    let mut work = Work::new(shape)?;
    let [of_a, of_b] = shape.needed();
    let shared = of_a + of_b / u64::from(CLUSTER);
    let least = shared as f64 / (of_a + of_b) as f64;
    part.predict(format!(
        "{} blocks need {} of A and {} of B. If clusters of {CLUSTER} share the tiles of B, they fetch {}: {} of it.\n\
         Where the L2 cache is the limit, the product is up to {} as fast; where something else is, it is as fast as before.",
        shape.blocks(),
        units::bytes(of_a),
        units::bytes(of_b),
        units::bytes(shared),
        units::percent(least),
        units::ratio(1.0 / least),
    ));

    let plan = Plan::new().launches(1, shape.threads());
    let variants = variants! { work: Work;
        ("global", "through global memory"), [stream] => Ok(work.multiply((Way::Global, CLUSTER), stream)?);
        ("dsmem", "distributed shared memory"), [stream] => Ok(work.multiply((Way::Dsmem, CLUSTER), stream)?);
        "multicast", [stream] => Ok(work.multiply((Way::Multicast, CLUSTER), stream)?);
    };
    let outcomes = part.compare("variants", plan, &mut work, variants)?;
    let fetched = work.fetched::<3>()?;

    let mut table = Table::new(["tiles", "time", "speed-up", "fetched", "a second"]);
    for (outcome, fetched) in outcomes.iter().zip(&fetched) {
        let time = outcome.median();
        table.row([
            outcome.name.to_string(),
            units::time(time),
            units::ratio(outcomes[0].median().div_duration_f64(time)),
            units::bytes(*fetched),
            units::bandwidth(*fetched, time),
        ]);
    }
    part.say(table);
    for outcome in &outcomes {
        part.keep(&outcome.name, &outcome.recording);
    }

    let planned = [of_a + of_b, shared, shared];
    for ((outcome, fetched), planned) in outcomes.iter().zip(fetched).zip(planned) {
        let name = &outcome.name;
        let as_planned = truth(fetched == planned, units::bytes(fetched), units::bytes(planned));
        expect! { part; outcome.id("fetched"), "{name}: blocks fetch what they must, and once" => as_planned; }
    }
    let [global, dsmem, multicast] = &outcomes;
    expect! { part;
        "waiting/multicast", "multicast: waiting for each other costs little" => global.speedup_over(multicast).at_most(1.15);
        "bound/multicast", "and gains no more than it saves bytes" => multicast.speedup_over(global).at_most(1.0 / least);
        "merged/multicast", "sharing by multicast hardly gains time" =>
            multicast.speedup_over(global).at_most(1.1);
        "faster/dsmem", "multicast is faster than passing tiles on" => multicast.speedup_over(dsmem).at_least(1.05);
    }
    part.take_away("Blocks of a cluster that need the same tile fetch it once by multicast: fewer requests, not always less time.");
    Ok(())
}
