//! Measurements and claims of the part `size`.

use super::matrices::{Answers, left, needed, right, shape, threads};
use crate::shape::Shape;
use crate::size::Product;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::answer::answer;
use examples_host::periodic::PeriodicProducts;
use examples_host::prelude::*;

const SIZES: [u32; 4] = [1, 2, 4, 8];
/// One step more than is portable.
const TOO_LARGE: u32 = 16;
const INVALID_SIZE: &str = "CUDA_ERROR_INVALID_CLUSTER_SIZE";

/// Why the model shows a gain that an H200 does not have.
const NEIGHBOURS: &str = "the model merges requests for the same line within a cluster. An H200 merges those of neighbours that are in \
     no cluster, too, and takes as long for the tiles that are shared as for all";

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
    let planned = SIZES.map(|size| of_a + of_b / u64::from(size));
    part.predict(format!(
        "Clusters of 1, 2, 4 and 8 blocks fetch {}. Each step saves less than the one before,\n\
         and makes more blocks wait for each other.",
        planned.map(units::bytes).join(", "),
    ));

    let plan = Plan::new().launches(1, threads(&shape));
    let variants = variants! { known: CheckedProduct, differ in Launches;
        ("blocks-1", "1 block"), [stream] => Ok(known.product.alone(stream)?), also Kernels;
        ("blocks-2", "2 blocks"), [stream] => Ok(known.product.shared(2, stream)?);
        ("blocks-4", "4 blocks"), [stream] => Ok(known.product.shared(4, stream)?);
        ("blocks-8", "8 blocks"), [stream] => Ok(known.product.shared(8, stream)?);
    };
    let outcomes = part.compare("sizes", plan, &mut known, variants)?;
    let mut table = Table::new(["a cluster of", "time", "speed-up", "fetched"]);
    let fetched = known.answers.fetched::<4>()?;
    for (outcome, bytes) in outcomes.iter().zip(fetched) {
        let time = outcome.median();
        let gain = units::ratio(outcomes[0].median().div_duration_f64(time));
        table.row([outcome.name.to_string(), units::time(time), gain, units::bytes(bytes)]);
        part.keep(&outcome.name, &outcome.recording);
    }
    let refused = answer(known.product.shared(TOO_LARGE, stream));
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
    let best = shared.iter().map(MeasuredVariant::median).min().unwrap_or_default();
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
