//! Measurements and claims of the part `one-host`.

mod rate;

use crate::gpus;
use crate::one_host::Copies;
use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::Context;
use examples_host::beside::others_together;
use examples_host::expect::checked;
use examples_host::prelude::*;
use rate::{rates, show_rates};

/// The copies, of data that differs from GPU to GPU.
struct CheckedCopies {
    copies: Copies,
}

impl CheckedCopies {
    fn new(elements: usize) -> Result<Self> {
        let mut copies = Copies::new(elements)?;
        for (gpu, host) in copies.host.iter_mut().enumerate() {
            seed(gpu).fill_u32(0, host);
        }
        Ok(Self { copies })
    }
}

fn seed(gpu: usize) -> Seed {
    Seed::new(70 + gpu as u64)
}

impl Workload for CheckedCopies {
    fn poison(&mut self) -> Result<()> {
        gpus::on_each(&self.copies.contexts, |gpu| Ok(self.copies.data[gpu].set_8(0xFF)?))?;
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        check_all(&self.copies.contexts, &self.copies.data, |gpu| gpu)
    }
}

/// Every element of every GPU, which are those that `of` gives the GPU's number for.
fn check_all(
    contexts: &[Context],
    data: &[DeviceBuffer<u32>],
    of: impl Fn(usize) -> usize,
) -> Result<Checked> {
    let checked = gpus::on_each(contexts, |gpu| {
        let mut found = vec![0; data[gpu].len()];
        data[gpu].copy_to(&mut found)?;
        let own = seed(of(gpu));
        let expected = |index| own.u32(index);
        Ok(check::equal(&format!("GPU {gpu}"), 0, &found, expected)?)
    })?;
    Ok(checked.into_iter().fold(Checked::default(), Checked::and))
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let elements = part.elements_by_times::<u32>(ByteSize::mib(256), ByteSize::mib(16))?;
    let mut known = CheckedCopies::new(elements)?;
    let (gpus, bytes) = (known.copies.contexts.len(), elements * size_of::<u32>());
    let streams = &gpus::streams(&known.copies.contexts, "copies")?[..];
    part.predict(format!(
        "If each of the {gpus} GPUs has a link of its own, copies to all of them at once take as long\nas a copy to one. If they share one, {gpus} times as long. Copies between GPUs do not\npass through the host where the hardware joins them."
    ));

    let plan = Plan::new().bytes_in(gpus * bytes);
    let variants = variants! { known: CheckedCopies, differ in Events;
        ("in-turn", "one GPU after the other"), streams => Ok(known.copies.in_turn(streams)?);
        ("at-once", "all GPUs at once"), streams => Ok(known.copies.at_once(streams)?);
    };
    let outcomes = part.compare("variants", plan, &mut known, variants)?;
    part.say(measure::table(&outcomes, part.device().times()));
    let [in_turn, at_once] = &outcomes;
    part.chart(&at_once.name, &at_once.recording, Rows::Streams);
    part.chart(&in_turn.name, &in_turn.recording, Rows::Streams);

    let rates = rates(part, &mut known.copies, streams, bytes)?;
    show_rates(part, &rates);
    let [in_one, in_all, out_one, out_all, over_one, over_all] = &rates;
    let arrived =
        check_all(&known.copies.contexts, &known.copies.arrived, |gpu| (gpu + gpus - 1) % gpus);
    let arrived = checked(arrived, "elements")?;
    let together = |outcome: &measure::MeasuredVariant| {
        share(others_together(&outcome.recording, "").unwrap_or(0.0))
    };
    expect! { part;
        "elements/over", "every element arrives at the next GPU" => arrived;
        "overlap/in-turn", "in turn: no copy overlaps another" => together(in_turn).at_most(0.01);
        "overlap/at-once", "at once: the copies overlap" => together(at_once).at_least(0.5);
    }
    for (id, what, one, all) in [
        ("in", "copies to all GPUs", in_one, in_all),
        ("out", "copies from all GPUs", out_one, out_all),
        ("over", "copies between all GPUs", over_one, over_all),
    ] {
        let gain = ratio(all.over(one));
        expect! { part;
            "not-slower/{id}", "{what} together are as fast as one" => gain.at_least(0.9);
            "not-above/{id}", "{what} together are no faster than each alone" => gain.at_most(1.1 * gpus as f64);
        }
    }
    part.take_away("Each link is there for its own two ends: what all GPUs do at once tells whether they share one.");
    Ok(())
}
