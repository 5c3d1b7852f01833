//! The gain inside the kernel: by intensity, with one block per multiprocessor, and by blocks where it is the greatest.

use super::bench::{Bench, Ceilings, Launch};
use super::forms::{Form, Forms};
use crate::data::{Line, elements_of};
use anyhow::Context;
use examples_host::prelude::*;
use std::time::Duration;

/// Multiply-adds per element.
const ROUNDS: [u32; 5] = [1, 16, 32, 64, 256];
/// Blocks per multiprocessor.
const BLOCKS: [u32; 3] = [1, 2, 4];
/// More than the caches of a GPU hold.
const MEASURED: ByteSize = ByteSize::mib(256);
/// A model has none.
const MODELLED: ByteSize = ByteSize::mib(12);

/// Where memory and arithmetic take about the same time.
pub struct Balance {
    /// Multiply-adds per element.
    pub rounds: u32,
    /// The fastest of the specialised forms there.
    pub fastest: Form,
}

/// Every launch that was timed, and how long its kernel ran.
struct Times(Vec<(Launch, Duration)>);

impl Times {
    fn of(&self, form: Form, blocks: u32, rounds: u32) -> Option<Duration> {
        let launch = Launch {
            form,
            blocks,
            rounds,
        };
        self.0
            .iter()
            .find(|(of, _)| *of == launch)
            .map(|(_, time)| *time)
    }

    /// The fastest specialised form, and how much faster than the unspecialised one it is.
    fn best(&self, forms: &Forms, blocks: u32, rounds: u32) -> anyhow::Result<(Form, f64)> {
        let time = |form| {
            self.of(form, blocks, rounds)
                .context("a launch that was not timed")
        };
        let specialised = forms
            .all()
            .into_iter()
            .filter(|&form| form != Form::Unspecialised);
        let timed: anyhow::Result<Vec<_>> =
            specialised.map(|form| Ok((time(form)?, form))).collect();
        let (fastest, form) = timed?
            .into_iter()
            .min_by_key(|(time, _)| *time)
            .context("no form")?;
        let unspecialised = time(Form::Unspecialised)?;
        Ok((form, unspecialised.as_secs_f64() / fastest.as_secs_f64()))
    }
}

/// Times all forms, prints what was found, makes the claims, and says where the balance is.
pub fn compare(part: &mut Part, forms: &Forms) -> anyhow::Result<Balance> {
    let device = part.device();
    let stream = Stream::non_blocking(device, "kernel")?;
    let elements = elements_of(part.elements_by_times::<Line>(MEASURED, MODELLED)?);
    let mut bench = Bench::new(&stream, forms, elements, &ROUNDS)?;
    let ceilings = bench.ceilings(part)?;
    let gain = |rounds: &u32| ceilings.gain(*rounds);
    let rounds = ROUNDS
        .into_iter()
        .max_by(|a, b| gain(a).total_cmp(&gain(b)))
        .unwrap_or(1);
    predict(part, elements, &ceilings, rounds);
    if let Some(left_out) = forms.left_out(device)? {
        part.say(left_out);
    }

    let mut launches = Vec::new();
    for form in forms.all() {
        let few = ROUNDS.into_iter().map(|rounds| Launch {
            form,
            blocks: 1,
            rounds,
        });
        let more = BLOCKS.into_iter().skip(1).flat_map(|blocks| {
            let of = |rounds| Launch {
                form,
                blocks,
                rounds,
            };
            [of(ROUNDS[0]), of(rounds)]
        });
        launches.extend(few.chain(more));
    }
    let mut checked = Ok(Checked::default());
    let times = sweep(part, 5, &launches, |&launch, check| {
        let (time, found) = bench.time(launch, check)?;
        if let Some(found) = found {
            check::add(&mut checked, found)?;
        }
        anyhow::Ok([time])
    })?;
    part.claim_right("every element is right in every form", "elements", &checked);
    for (launch, [times]) in launches.iter().zip(&times) {
        let group = format!(
            "{} rounds, {} blocks per multiprocessor",
            launch.rounds, launch.blocks
        );
        part.timed(&group, &launch.form.to_string(), Kind::Makespan, times);
    }
    let medians = times.iter().map(|[times]| times.median());
    let times = Times(launches.into_iter().zip(medians).collect());
    show(part, forms, &times, &ceilings, rounds)?;
    judge(part, forms, &times, &ceilings, rounds)?;
    let (fastest, _) = times.best(forms, 1, rounds)?;
    Ok(Balance { rounds, fastest })
}

fn predict(part: &mut Part, elements: usize, ceilings: &Ceilings, rounds: u32) {
    part.predict(format!(
        "{elements} elements in and out take {} of memory, {rounds} multiply-adds of each {} of arithmetic.\n\
         One after the other they take the sum, at the same time the longer of both: the gain is greatest at\n\
         {rounds} multiply-adds, at most {}, and small where either takes nearly all of the time.",
        units::time(ceilings.memory),
        units::time(ceilings.arithmetic(rounds)),
        units::ratio(ceilings.gain(rounds)),
    ));
}

fn show(
    part: &mut Part,
    forms: &Forms,
    times: &Times,
    ceilings: &Ceilings,
    balance: u32,
) -> anyhow::Result<()> {
    let titles = [
        "unspecialised",
        "named barriers",
        "cp.async",
        "bulk",
        "gain",
    ];
    let cells = |blocks, rounds| -> anyhow::Result<Vec<String>> {
        let time = |form| {
            times
                .of(form, blocks, rounds)
                .map_or("-".to_owned(), units::time)
        };
        let (_, gain) = times.best(forms, blocks, rounds)?;
        Ok(Form::ALL
            .map(time)
            .into_iter()
            .chain([units::ratio(gain)])
            .collect())
    };
    let [a, b, c, d, e] = titles;
    let mut table = Table::new(["rounds", "bound", "gain, at most", a, b, c, d, e]);
    for rounds in ROUNDS {
        let bounds = [
            rounds.to_string(),
            units::time(ceilings.bound(rounds)),
            units::ratio(ceilings.gain(rounds)),
        ];
        table.row(bounds.into_iter().chain(cells(1, rounds)?));
    }
    part.say(format!("One block per multiprocessor:\n{table}"));
    let mut table = Table::new(["blocks per multiprocessor", a, b, c, d, e]);
    for blocks in BLOCKS {
        table.row(
            [blocks.to_string()]
                .into_iter()
                .chain(cells(blocks, balance)?),
        );
    }
    part.say(format!("{balance} rounds:\n{table}"));
    Ok(())
}

fn judge(
    part: &mut Part,
    forms: &Forms,
    times: &Times,
    ceilings: &Ceilings,
    rounds: u32,
) -> anyhow::Result<()> {
    let (fastest, gain) = times.best(forms, 1, rounds)?;
    part.claim_ratio_at_least(
        "specialised is not slower where the gain is predicted",
        gain,
        0.98,
    );
    part.claim_measured_ratio_at_least(
        "specialised is faster there than unspecialised",
        gain,
        1.15,
        "the model spreads what a block asks for evenly over its life, so much of the overlap is there without producers",
    );
    let mut reached = Vec::new();
    for rounds in ROUNDS {
        let best = BLOCKS
            .iter()
            .filter_map(|&blocks| times.of(fastest, blocks, rounds))
            .min();
        let best = best.context("a launch that was not timed")?;
        reached.push(ceilings.bound(rounds).as_secs_f64() / best.as_secs_f64());
    }
    let [least, .., most] = &reached[..] else {
        anyhow::bail!("no rounds");
    };
    part.claim_share_at_least("few rounds come near what memory gives", *least, 0.85);
    part.claim_share_at_least("many rounds come near what arithmetic gives", *most, 0.85);
    let highest = reached.iter().copied().fold(0.0, f64::max);
    part.claim_share_at_most("no kernel passes its bound", highest, 1.1);
    Ok(())
}
