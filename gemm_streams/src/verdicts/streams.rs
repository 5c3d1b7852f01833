//! Measurements and claims of the part `streams`.

use super::operands::{Operands, shape};
use super::rates::Rate;
use crate::streams::Products;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;

const FEW: &str =
    "the few small products that a model is given do not make up for filling and draining";

/// The products, and what they must be.
struct CheckedProducts {
    products: Products,
    operands: Operands,
}

impl Workload for CheckedProducts {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.products.host_c);
        Ok(self.products.c.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        self.operands.check(&self.products.host_c)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let streams = &stream::non_blocking_numbered(8)?[..];
    let [a, b] = [&streams[0], &streams[1]];
    let shape = shape(part, [512, 512, 128]);
    let (operands, count) = (Operands::new(shape), shape.products);
    let products = Products::new(shape, &operands.a, &operands.b)?;
    let mut known = CheckedProducts { products, operands };
    let stages = [
        piece([a], |known: &mut CheckedProducts| Ok(known.products.copy_in(a)?)),
        piece([a], |known: &mut CheckedProducts| Ok(known.products.multiply(a)?)),
        piece([b], |known: &mut CheckedProducts| Ok(known.products.copy_out(b)?)),
        // Both directions at once and nothing else: no schedule is faster.
        piece([a, b], |known: &mut CheckedProducts| {
            known.products.copy_in(a)?;
            Ok(known.products.copy_out(b)?)
        }),
    ];
    let mut alone = part.alone_in_turn(&mut known, stages)?;
    let stages = alone.stages();
    let least = Rate::peak(part.device())?.map_or(String::new(), |peak| {
        format!(" (the data sheet's rate: {})", units::time(peak.time(shape)))
    });
    part.predict(format!(
        "{count} products of {} x {} x {}: operands come in {}, results go out in {}, both directions together {}.\n\
         All products in one launch take {}{least}. So the link decides: {} with streams, {} without.",
        shape.m,
        shape.n,
        shape.k,
        units::time(stages.copy_in),
        units::time(stages.copy_out),
        units::time(stages.both_copies),
        units::time(stages.kernel),
        units::time(stages.bound(Overlap::Duplex)),
        units::time(stages.bound(Overlap::None)),
    ));

    let [bytes_a, bytes_b, bytes_c] = shape.elements().map(|len| count * len * size_of::<u16>());
    let plan = Plan::new().bytes_in(bytes_a + bytes_b).bytes_out(bytes_c);
    let plan = plan.launches(1, count * shape.elements()[2]).launches_differ();
    let variants = variants! { known: CheckedProducts, differ in Streams;
        ("serial", "one stream"), [a] => Ok(known.products.in_turn(&streams[..1])?);
        ("streams-2", "2 streams"), &streams[..2] => Ok(known.products.in_turn(&streams[..2])?);
        ("streams-4", "4 streams"), &streams[..4] => Ok(known.products.in_turn(&streams[..4])?);
        ("streams-8", "8 streams"), streams => Ok(known.products.in_turn(streams)?);
        ("batched", "batched, one launch"), [a] => Ok(known.products.batched(a)?), also Kernels, Launches, Copies;
    };
    let outcomes = part.compare_bounded("variants", plan, &mut known, &mut alone, variants)?;
    let stages = alone.stages();
    part.show_bounded(&outcomes, &stages, alone.disturbed_link());
    let [serial, two, four, eight, batched] = &outcomes;
    part.chart(&four.name, &four.recording, Rows::Engines);

    for outcome in [two, four, eight] {
        let (name, gain) = (&outcome.name, outcome.speedup_over(serial));
        expect! { part; outcome.id("faster"), "{name} are faster than one" => gain.at_least(1.15); }
    }
    let best = [two, four, eight].into_iter().min_by_key(|outcome| outcome.times.min());
    let near = best.unwrap_or(two).reached(&stages).at_least(0.85);
    let near = near.unless_disturbed(alone.disturbed_link());
    let overlap = batched.overlap(Engine::DeviceToHost, Engine::HostToDevice);
    expect! { part;
        "overlap/batched", "one launch of all overlaps no copies" => overlap.at_most(0.01);
        "not-the-kernel", "so 4 streams beat it, with slower kernels" => four.speedup_over(batched).at_least(1.05);
        "near-bound", "the best of them comes near what the link allows" => near.not_of_the_model(FEW);
    }
    part.take_away("Where the link decides, overlap the copies: a faster kernel changes nothing.");
    Ok(())
}
