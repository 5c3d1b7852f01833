//! Measurements and claims of the part `warpgroups`.

use super::operands::Operands;
use super::rates::{self, Rate};
use crate::shape::GemmShape;
use crate::warpgroups::WarpgroupProducts;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;

/// The product, and its expected value.
struct CheckedProduct {
    products: WarpgroupProducts,
    operands: Operands,
}

impl Workload for CheckedProduct {
    fn poison(&mut self) -> Result<()> {
        Ok(self.products.c.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        self.operands.check(&self.products.c.as_host_vec()?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [stream] = &stream::non_blocking_named(["product"])?;
    let shape = part.by_times(
        GemmShape { products: 1, m: 8192, n: 8192, k: 8192 },
        GemmShape { products: 1, m: 512, n: 1024, k: 512 },
    );
    let (operands, blocks) = (Operands::new(shape), part.device().multiprocessors()?);
    let products = WarpgroupProducts::new(shape, blocks, &operands.a, &operands.b)?;
    let mut known = CheckedProduct { products, operands };
    let peak = Rate::peak(part.device())?;
    let least = peak.as_ref().map(|peak| peak.time(shape));
    part.predict(format!(
        "A product of {} x {} x {} takes {} at the data sheet's rate, which counts wgmma. With mma.sync Hopper reaches\n\
         about two thirds of it.",
        shape.m,
        shape.n,
        shape.k,
        least.map_or("an unknown time".to_owned(), units::time),
    ));

    let plan = Plan::new().launches(1, shape.elements()[2]).threads_differ();
    let variants = variants! { known: CheckedProduct, differ in Launches;
        ("mma-sync", "mma.sync"), [stream] => Ok(known.products.mma_sync(stream)?), also Kernels;
        "wgmma", [stream] => Ok(known.products.wgmma(1, stream)?);
        ("wgmma-clusters", "wgmma, clusters of 2"), [stream] => Ok(known.products.wgmma(2, stream)?);
    };
    let outcomes = part.compare("variants", plan, &mut known, variants)?;
    part.say(rates::table(&outcomes, shape, peak.as_ref()));
    part.not_claimed_of_the_model("variants", &["mma-sync"]);
    for outcome in &outcomes {
        part.keep(&outcome.name, &outcome.recording);
    }

    let [mma, wgmma, clusters] = &outcomes;
    for outcome in [wgmma, clusters] {
        let (name, gain) = (&outcome.name, outcome.speedup_over(mma));
        expect! { part; outcome.id("faster"), "{name} is faster than mma.sync" => gain.at_least(1.2); }
    }
    for (outcome, least) in outcomes.iter().zip([least; 3].into_iter().flatten()) {
        let (name, reached) = (&outcome.name, share(least.div_duration_f64(outcome.times.min())));
        expect! { part; outcome.id("not-above-peak"), "{name} is not faster than the data sheet" => reached.at_most(1.0); }
    }
    part.take_away("Bring by tensor maps, multiply from shared memory, and let no warp do both.");
    Ok(())
}
