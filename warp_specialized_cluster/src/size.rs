//! size: how many blocks should share?
//!
//! The larger the cluster, the less is fetched: a tile of B once for 1, 2, 4 or 8 blocks. But all blocks of a cluster wait for the
//! slowest, need room at the same time, and must lie in one GPU processing cluster (GPC), whose multiprocessors they may not divide
//! evenly:
//!
//! ```text
//! fetched  |########|####|##|#|
//! blocks    1        2    4  8     each step saves half of what is left, and makes more blocks wait for each other
//! ```
//!
//! Every device with clusters takes 8 blocks. More need a kernel that is not portable and says so
//! (`CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`): without it a launch of 16 is refused. A cluster that fetches more than
//! its share, or a launch of 16 that is accepted, would prove this wrong.

use crate::product::{Shape, Way, Work};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::answer::answer;
use examples_host::prelude::*;

const SIZES: [u32; 4] = [1, 2, 4, 8];
/// One step more than is portable.
const TOO_LARGE: u32 = 16;
const INVALID_SIZE: &str = "CUDA_ERROR_INVALID_CLUSTER_SIZE";

/// Why the model shows a gain that an H200 does not have.
const NEIGHBOURS: &str = "the model merges requests for the same line within a cluster. An H200 merges those of neighbours that are in \
     no cluster, too, and takes as long for the tiles that are shared as for all";

/// One block shares with nobody.
fn way(size: u32) -> Way {
    if size == 1 { Way::Global } else { Way::Multicast }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [stream] = &stream::non_blocking_named(["product"])?;
    let shape = Shape::of(part, (1, 320))?;
    let mut work = Work::new(shape)?;
    let [of_a, of_b] = shape.needed();
    let planned = SIZES.map(|size| of_a + of_b / u64::from(size));
    part.predict(format!(
        "Clusters of 1, 2, 4 and 8 blocks fetch {}. Each step saves less than the one before,\n\
         and makes more blocks wait for each other.",
        planned.map(units::bytes).join(", "),
    ));

    let plan = Plan::new().launches(1, shape.threads());
    let multiply = |work: &mut Work, size| Ok(work.multiply((way(size), size), stream)?);
    let variants = variants! { work: Work;
        ("blocks-1", "1 block"), [stream] => multiply(work, 1);
        ("blocks-2", "2 blocks"), [stream] => multiply(work, 2);
        ("blocks-4", "4 blocks"), [stream] => multiply(work, 4);
        ("blocks-8", "8 blocks"), [stream] => multiply(work, 8);
    };
    let outcomes = part.compare("sizes", plan, &mut work, variants)?;
    let mut table = Table::new(["a cluster of", "time", "speed-up", "fetched"]);
    let fetched = work.fetched::<4>()?;
    for (outcome, bytes) in outcomes.iter().zip(fetched) {
        let time = outcome.median();
        let gain = units::ratio(outcomes[0].median().div_duration_f64(time));
        table.row([outcome.name.to_string(), units::time(time), gain, units::bytes(bytes)]);
        part.keep(&outcome.name, &outcome.recording);
    }
    let refused = answer(work.multiply((Way::Multicast, TOO_LARGE), stream));
    table.row(
        [format!("{TOO_LARGE} blocks"), refused.clone()]
            .into_iter()
            .chain(["-", "-"].map(str::to_owned)),
    );
    part.say(table);

    for ((outcome, fetched), planned) in outcomes.iter().zip(fetched).zip(planned) {
        let name = &outcome.name;
        let as_planned = truth(fetched == planned, units::bytes(fetched), units::bytes(planned));
        expect! { part; outcome.id("fetched"), "{name} to a cluster: it fetches a tile once" => as_planned; }
    }
    let [one, shared @ ..] = &outcomes;
    for outcome in shared {
        let (name, slower) = (&outcome.name, one.speedup_over(outcome).at_most(1.15));
        expect! { part; outcome.id("waiting"), "{name}: waiting for each other costs little" => slower; }
    }
    let best = shared.iter().map(Outcome::median).min().unwrap_or_default();
    let gain = ratio(one.median().div_duration_f64(best)).at_most(1.1);
    expect! { part;
        "merged/best", "sharing hardly gains time" => gain.not_of_the_model(NEIGHBOURS);
        "refused/blocks-16", "a cluster of 16 blocks is refused" => exactly(refused, INVALID_SIZE);
    }
    part.take_away(
        "Two or four blocks save most of the bytes. More have to wait for more neighbours.",
    );
    Ok(())
}
