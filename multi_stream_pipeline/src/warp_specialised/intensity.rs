//! The gain inside the kernel: by intensity, with one block per multiprocessor, and by blocks where it is the greatest.

use super::bench::{Bench, Ceilings, Launch};
use super::forms::{Form, Forms};
use crate::data::{Line, elements_of};
use anyhow::Context;
use examples_host::prelude::*;
use std::time::Duration;

/// Multiply-adds per element.
const ROUNDS: [u32; 5] = [1, 16, 32, 64, 256];
/// Nearly nothing but memory, nearly nothing but arithmetic.
const ENDS: [u32; 2] = [1, 256];
/// Blocks per multiprocessor that overlap each other's phases.
const MANY: u32 = 4;
/// More than the caches of a GPU hold.
const MEASURED: ByteSize = ByteSize::mib(256);
/// A model has none.
const MODELLED: ByteSize = ByteSize::mib(8);

/// What is timed: blocks per multiprocessor, and rounds. One block with all rounds; more blocks at the balance, and some at
/// both ends too.
fn cases(balance: u32) -> Vec<(u32, u32)> {
    let mut cases: Vec<_> = ROUNDS.into_iter().map(|rounds| (1, rounds)).collect();
    cases.extend([
        (2, balance),
        (MANY, ENDS[0]),
        (MANY, balance),
        (MANY, ENDS[1]),
        (6, balance),
    ]);
    cases.dedup();
    cases
}

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

/// The most of its bound that a kernel reaches. The ceilings are those of two plain kernels, and another may make a little
/// more of the same memory or arithmetic.
const CEILING: f64 = 1.06;

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

    let cases = cases(rounds);
    let of_forms = |&(blocks, rounds)| {
        let launch = move |form| Launch {
            form,
            blocks,
            rounds,
        };
        forms.all().into_iter().map(launch)
    };
    let launches: Vec<Launch> = cases.iter().flat_map(of_forms).collect();
    let mut checked = Ok(Checked::default());
    let times = sweep(part, 5, &launches, |&launch, check| {
        let (time, found) = bench.time(launch, check)?;
        if let Some(found) = found {
            check::add(&mut checked, found)?;
        }
        anyhow::Ok([time])
    })?;
    part.claim_right(
        "intensity/elements",
        "every element is right in every form",
        "elements",
        &checked,
    );
    for (launch, [times]) in launches.iter().zip(&times) {
        let Launch {
            form,
            blocks,
            rounds,
        } = launch;
        let group = (
            format!("rounds-{rounds}/blocks-{blocks}"),
            format!("{rounds} rounds, {blocks} blocks per multiprocessor"),
        );
        part.timed(group, (form.id(), form.to_string()), Kind::Makespan, times);
    }
    let medians = times.iter().map(|[times]| times.median());
    let times = Times(launches.into_iter().zip(medians).collect());
    show(part, forms, &times, &ceilings, &cases)?;
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
    cases: &[(u32, u32)],
) -> anyhow::Result<()> {
    let mut table = Table::new([
        "blocks per SM",
        "rounds",
        "bound",
        "unspecialised",
        "named barriers",
        "cp.async",
        "bulk",
        "gain",
        "of the bound",
    ]);
    for &(blocks, rounds) in cases {
        let time = |form| times.of(form, blocks, rounds);
        let (fastest, gain) = times.best(forms, blocks, rounds)?;
        let bound = ceilings.bound(rounds);
        let reached = time(fastest).map_or(0.0, |time| share(bound, time));
        let case = [blocks.to_string(), rounds.to_string(), units::time(bound)];
        let times = Form::ALL.map(|form| time(form).map_or("-".to_owned(), units::time));
        let figures = [units::ratio(gain), units::percent(reached)];
        table.row(case.into_iter().chain(times).chain(figures));
    }
    part.say(table);
    Ok(())
}

fn share(bound: Duration, time: Duration) -> f64 {
    bound.as_secs_f64() / time.as_secs_f64()
}

const REASON: &str = "it spreads what a block asks for evenly over the block's life, so memory and arithmetic\n\
                      overlap in it whether or not there are producers";

fn judge(
    part: &mut Part,
    forms: &Forms,
    times: &Times,
    ceilings: &Ceilings,
    balance: u32,
) -> anyhow::Result<()> {
    let [first, last] = ENDS;
    let gain = |blocks, rounds| times.best(forms, blocks, rounds).map(|(_, gain)| gain);
    let sentence = format!("one block per SM, {balance} rounds: specialised is not slower");
    part.claim_ratio_at_least("intensity/not-slower", &sentence, gain(1, balance)?, 0.98);
    let sentence = format!("one block per SM, {balance} rounds: specialised is faster");
    part.claim_measured_ratio_at_least(
        "intensity/faster",
        &sentence,
        gain(1, balance)?,
        1.15,
        REASON,
    );
    let at_ends = gain(MANY, first)?.max(gain(MANY, last)?);
    let sentence =
        format!("{MANY} blocks per SM: {balance} rounds gain more than {first} or {last}");
    let more = gain(MANY, balance)? / at_ends;
    part.claim_measured_ratio_at_least("intensity/gain-at-balance", &sentence, more, 1.05, REASON);

    let reached = |rounds| -> anyhow::Result<f64> {
        let (fastest, _) = times.best(forms, MANY, rounds)?;
        let time = times
            .of(fastest, MANY, rounds)
            .context("a launch that was not timed")?;
        Ok(share(ceilings.bound(rounds), time))
    };
    let (memory, arithmetic) = (reached(first)?, reached(last)?);
    part.claim_share_at_least(
        "intensity/memory",
        "few rounds come near what memory gives",
        memory,
        0.8,
    );
    part.claim_share_at_least(
        "intensity/arithmetic",
        "many rounds come near what arithmetic gives",
        arithmetic,
        0.85,
    );
    let highest = times
        .0
        .iter()
        .map(|(launch, time)| share(ceilings.bound(launch.rounds), *time));
    let highest = highest.fold(0.0, f64::max);
    part.claim_share_at_most(
        "intensity/not-below-bound",
        "no kernel passes its bound",
        highest,
        CEILING,
    );
    Ok(())
}
