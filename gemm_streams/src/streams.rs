//! streams: what do streams gain when the operands come and go?
//!
//! For each product its operands come in, a kernel multiplies them on tensor cores, and the result goes out. The products have nothing to
//! do with each other. One stream keeps all of it in order. Several streams take turns, each product whole in one of them: no event is
//! needed. And all products can be one copy in, one launch and one copy out, the fewest operations of all:
//!
//! ```text
//! one stream    |IIKOIIKOIIKOIIKO|    I: A and B come in   K: the kernel   O: C goes out
//! two streams   |IIKOIIKO       |
//!               |  IIKOIIKO     |
//! batched       |IIIIIIIIKOOOO   |    a short kernel: but nothing overlaps
//! ```
//!
//! A product of n x n x n needs 2 n^3 operations and 6 n^2 bytes: at n = 1024 the link takes ten times as long as the tensor cores. So no
//! kernel helps, and the bound is the link's: both directions together, or the kernel, whichever is longer. As the kernel's time counts the
//! one launch of all products, the least that the kernels can take.
//!
//! A wrong element, a time below the bound, streams that gain nothing, or a batched launch that beats them would prove this wrong.

use crate::products::{self, Products, Shape};
use anyhow::Result;
use cuda_host::prelude::*;
use cust::stream::Stream;
use examples_host::prelude::*;

const FEW: &str =
    "the few small products that a model is given do not make up for filling and draining";

impl Workload for Products {
    fn poison(&mut self) -> Result<()> {
        Products::poison(self)
    }

    fn check(&mut self) -> Result<Checked> {
        Products::check(self)
    }
}

/// Each product whole in the next of the streams.
fn in_turn(work: &mut Products, streams: &[Stream]) -> Result<()> {
    for (product, stream) in (0..work.shape.products).zip(streams.iter().cycle()) {
        let product = product..product + 1;
        work.copy_in(product.clone(), stream)?;
        work.multiply(product.clone(), stream)?;
        work.copy_out(product, stream)?;
    }
    Ok(())
}

/// All products at once.
fn batched(work: &mut Products, stream: &Stream) -> Result<()> {
    let all = 0..work.shape.products;
    work.copy_in(all.clone(), stream)?;
    work.multiply(all.clone(), stream)?;
    work.copy_out(all, stream)
}

/// Both directions at once and nothing else: no schedule is faster.
fn copies(work: &mut Products, [copy_in, copy_out]: [&Stream; 2]) -> Result<()> {
    work.copy_in(0..work.shape.products, copy_in)?;
    work.copy_out(0..work.shape.products, copy_out)
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let streams = stream::non_blocking_numbered(8)?;
    let [a, b] = [&streams[0], &streams[1]];
    let shape = Shape::of(part, [512, 512, 128]);
    let (mut work, count) = (Products::new(shape)?, shape.products);
    let stages = [
        piece([a], |work: &mut Products| work.copy_in(0..count, a)),
        piece([a], |work: &mut Products| work.multiply(0..count, a)),
        piece([b], |work: &mut Products| work.copy_out(0..count, b)),
        piece([a, b], |work: &mut Products| copies(work, [a, b])),
    ];
    let mut alone = part.alone_in_turn(&mut work, stages)?;
    let stages = alone.stages();
    let least = match products::peak(part.device())? {
        Some(peak) => {
            let time = std::time::Duration::from_secs_f64(shape.operations() / peak);
            format!(" (the data sheet's rate: {})", units::time(time))
        }
        None => String::new(),
    };
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

    let [bytes_in, bytes_out] = shape.bytes();
    let plan = Plan::new().bytes_in(bytes_in).bytes_out(bytes_out);
    let plan = plan.launches(1, count * shape.m * shape.n).launches_differ();
    let variants = variants! { work: Products;
        ("serial", "one stream"), [a] => in_turn(work, &streams[..1]);
        ("streams-2", "2 streams"), &streams[..2] => in_turn(work, &streams[..2]);
        ("streams-4", "4 streams"), &streams[..4] => in_turn(work, &streams[..4]);
        ("streams-8", "8 streams"), &streams => in_turn(work, &streams);
        ("batched", "batched, one launch"), [a] => batched(work, a);
    };
    let outcomes = part.compare_bounded("variants", plan, &mut work, &mut alone, variants)?;
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
