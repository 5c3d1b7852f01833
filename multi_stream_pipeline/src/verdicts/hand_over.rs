//! Measurements and claims of the part `hand-over`.

use crate::hand_over::{A, B, HandOver};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;
use multi_stream_pipeline::owned::Released;

const DATA: Seed = Seed::new(41);
/// Timed runs: the shortest of ten differed by 3 % on a busy host, with equal medians.
const RUNS: usize = 40;

impl Workload for HandOver {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.output);
        for (slot, owned) in self.slots.iter_mut().zip(&mut self.owned) {
            slot.data.set_8(0xFF)?;
            *owned = Released::zeroed(slot.data.len())?;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let expected = |index| DATA.f32(index).mul_add(A, B);
        Ok(check::equal("the output", 0, &self.output, expected)?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [copy_in, compute, copy_out] =
        stream::non_blocking_named(["copy in", "compute", "copy out"])?;
    let roles = [&copy_in, &compute, &copy_out];
    let elements = part.elements_by_times::<f32>(ByteSize::mib(256), ByteSize::mib(16))?;
    let chunks = part.chunks(16, elements)?;
    let mut work = HandOver::new(chunks::ranges::<f32>(elements, chunks)?)?;
    DATA.fill_f32(0, &mut work.input);
    part.predict(
        "Both programs make the same calls: a wait and a record for each time that a buffer changes hands. They take\n\
         the same time and leave the same bits. Where an event is missing, the first is wrong in silence; the second does not compile, as the tests of owned.rs show.",
    );

    let bytes = 4 * elements;
    let plan = Plan::new().copies(bytes).launches(chunks, elements);
    let variants = variants! { work: HandOver, differ in Order;
        ("by-hand", "events by hand"), roles => work.by_hand(roles);
        ("owned", "checked by the compiler"), roles => work.owned(roles);
    };
    let outcomes = part.compare_often("variants", RUNS, plan, &mut work, variants)?;
    part.say(measure::table(&outcomes, part.device().times()));
    let [by_hand, owned] = &outcomes;
    part.chart(&owned.name, &owned.recording, Rows::Streams);
    part.chart(&by_hand.name, &by_hand.recording, Rows::Streams);

    // The shortest of the runs: what disturbs one run does not count.
    let same = time(owned.times.min()).near(by_hand.times.min(), 0.02);
    expect! { part; "same-time", "both take the same time" => same; }
    let silent = "events by hand: the race checker is silent";
    part.expect_unreported("no-report/by-hand", silent, || {
        work.by_hand(roles)?;
        Ok(copy_out.synchronize()?)
    })?;
    let silent = "checked by the compiler: the race checker is silent";
    part.expect_unreported("no-report/owned", silent, || {
        work.owned(roles)?;
        Ok(copy_out.synchronize()?)
    })?;
    part.take_away("A buffer that belongs to a stream turns a forgotten event into a compile error, at no cost.");
    Ok(())
}
