//! launches: what do streams gain when everything is on the device?
//!
//! A product has so few tiles that most multiprocessors have nothing to do. In one stream its kernel runs alone, and the next begins when
//! its last tile is done. In several streams kernels share the device: the tiles of one fill what those of another leave free. One launch of
//! all products has all tiles from the beginning, in one grid: no number of streams can do better, and so it is the honest bound.
//!
//! ```text
//! one stream   |KKKK KKKK KKKK KKKK|    few multiprocessors are busy
//! 4 streams    |KKKK|
//!              |KKKK|
//!              |KKKK|
//!              |KKKK|
//! batched      |KKK|                    the same tiles, one launch
//! ```
//!
//! A wrong element, streams that gain nothing, or streams that beat the one launch would prove this wrong.

use crate::products::{self, Products, Shape};
use anyhow::Result;
use cuda_host::prelude::*;
use cust::stream::Stream;
use examples_host::prelude::*;

/// Noise of two measurements, as a share.
const NOISE: f64 = 0.03;

/// The products without their copies.
struct Resident(Products);

impl Resident {
    /// A launch for each product, in the streams in turn.
    fn each(&mut self, streams: &[Stream]) -> Result<()> {
        for (product, stream) in (0..self.0.shape.products).zip(streams.iter().cycle()) {
            self.0.multiply(product..product + 1, stream)?;
        }
        Ok(())
    }
}

impl Workload for Resident {
    fn poison(&mut self) -> Result<()> {
        self.0.poison()
    }

    fn check(&mut self) -> Result<Checked> {
        self.0.check_device()
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let streams = stream::non_blocking_numbered(8)?;
    let shape = Shape::of(part, [256, 256, 512]);
    let mut work = Resident(Products::new(shape)?);
    let multiprocessors = part.device().multiprocessors()?;
    part.predict(format!(
        "A product is {} tiles, and the device has {multiprocessors} multiprocessors. One after the other, {} products leave\n\
         most of them idle; one launch of all is {} tiles. Streams come nearer to it, and never pass it.",
        shape.tiles(),
        shape.products,
        shape.tiles() * shape.products,
    ));

    let plan = Plan::new().launches(1, shape.products * shape.m * shape.n).launches_differ();
    let variants = variants! { work: Resident;
        ("serial", "one stream"), &streams[..1] => work.each(&streams[..1]);
        ("streams-2", "2 streams"), &streams[..2] => work.each(&streams[..2]);
        ("streams-4", "4 streams"), &streams[..4] => work.each(&streams[..4]);
        ("streams-8", "8 streams"), &streams => work.each(&streams);
        ("batched", "batched, one launch"), &streams[..1] => work.0.multiply(0..shape.products, &streams[0]);
    };
    let outcomes = part.compare("variants", plan, &mut work, variants)?;
    part.say(products::rates(&outcomes, &shape, products::peak(part.device())?));
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
