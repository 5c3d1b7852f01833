//! Measurements and claims of the part `tiles`.

use super::matrices::{Answers, left, needed, right, shape, threads};
use crate::shape::Shape;
use crate::tiles::Product;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::periodic::PeriodicProducts;
use examples_host::prelude::*;

/// Blocks of a cluster.
const CLUSTER: u32 = 4;

/// The product, and its expected value.
struct CheckedProduct {
    product: Product,
    answers: Answers,
}

impl CheckedProduct {
    fn new(shape: Shape) -> Result<Self> {
        let matrices = PeriodicProducts::new(71, 72, shape.terms as usize);
        let product = Product::new(shape, &left(&shape, &matrices), &right(&shape, &matrices))?;
        Ok(Self { product, answers: Answers::new(&shape, matrices) })
    }
}

impl Workload for CheckedProduct {
    fn poison(&mut self) -> Result<()> {
        self.product.c.set_8(0xFF)?;
        Ok(self.product.fetched.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        self.answers.check(&self.product.c.as_host_vec()?, &self.product.fetched.as_host_vec()?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [stream] = &stream::non_blocking_named(["product"])?;
    let shape = shape(part, (1, 320))?;
    let mut known = CheckedProduct::new(shape)?;
    let [of_a, of_b] = needed(&shape);
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

    let plan = Plan::new().launches(1, threads(&shape));
    let variants = variants! { known: CheckedProduct, differ in Kernels, Launches;
        ("global", "through global memory"), [stream] => Ok(known.product.global(stream)?);
        ("dsmem", "distributed shared memory"), [stream] => Ok(known.product.dsmem(stream)?);
        "multicast", [stream] => Ok(known.product.multicast(stream)?);
    };
    let outcomes = part.compare("variants", plan, &mut known, variants)?;
    let fetched = known.answers.fetched::<3>()?;

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
