//! Measurements and claims of the part `launches`.

use super::operands::{Operands, shape};
use super::rates::{self, Rate};
use crate::launches::Products;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;

/// Noise of two measurements, as a share.
const NOISE: f64 = 0.03;

/// The products, and what they must be.
struct CheckedProducts {
    products: Products,
    operands: Operands,
}

impl Workload for CheckedProducts {
    fn poison(&mut self) -> Result<()> {
        Ok(self.products.c.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        self.operands.check(&self.products.c.as_host_vec()?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let streams = &stream::non_blocking_numbered(8)?[..];
    let shape = shape(part, [256, 256, 512]);
    let operands = Operands::new(shape);
    let products = Products::new(shape, &operands.a, &operands.b)?;
    let mut known = CheckedProducts { products, operands };
    let (multiprocessors, tiles) = (part.device().multiprocessors()?, shape.tiles() as usize);
    part.predict(format!(
        "A product is {tiles} tiles, and the device has {multiprocessors} multiprocessors. One after the other, {} products leave\n\
         most of them idle; one launch of all is {} tiles. Streams come nearer to it, and never pass it.",
        shape.products,
        tiles * shape.products,
    ));

    let plan = Plan::new().launches(1, shape.products * shape.elements()[2]).launches_differ();
    let variants = variants! { known: CheckedProducts, differ in Streams;
        ("serial", "one stream"), &streams[..1] => Ok(known.products.each(&streams[..1])?);
        ("streams-2", "2 streams"), &streams[..2] => Ok(known.products.each(&streams[..2])?);
        ("streams-4", "4 streams"), &streams[..4] => Ok(known.products.each(&streams[..4])?);
        ("streams-8", "8 streams"), streams => Ok(known.products.each(streams)?);
        ("batched", "batched, one launch"), &streams[..1] => Ok(known.products.batched(&streams[0])?), also Kernels, Launches;
    };
    let outcomes = part.compare("variants", plan, &mut known, variants)?;
    part.say(rates::table(&outcomes, shape, Rate::peak(part.device())?.as_ref()));
    part.not_claimed_of_the_model("variants", &["streams-2"]);
    let [serial, two, four, eight, batched] = &outcomes;
    part.chart(&four.name, &four.recording, Rows::Streams);

    for (outcome, least) in [(two, 1.3), (four, 1.5), (eight, 1.5), (batched, 1.5)] {
        let (name, gain) = (&outcome.name, outcome.speedup_over(serial));
        expect! { part; outcome.id("faster"), "{name}: faster than one stream" => gain.at_least(least); }
    }
    for outcome in [two, four, eight] {
        let (name, gain) =
            (&outcome.name, outcome.times.min().div_duration_f64(batched.times.min()));
        let bound = ratio(gain).at_least(1.0 - NOISE);
        expect! { part; outcome.id("not-below-bound"), "{name}: not faster than one launch of all" => bound; }
    }
    part.take_away(
        "Fill the device with one launch where you can; streams are the next best thing.",
    );
    Ok(())
}
