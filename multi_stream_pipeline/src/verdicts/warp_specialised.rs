//! Measurements and claims of the part `warp-specialised`.

mod batches;
mod expect;
mod forms;
mod work;

use crate::forms::Forms;
use anyhow::Result;
use examples_host::prelude::*;
use work::DeviceArray;

/// Multiply-adds per element: from nearly nothing but memory to nearly nothing but arithmetic.
const ROUNDS: [u32; 5] = [1, 16, 32, 64, 256];
/// Blocks per multiprocessor that overlap each other's phases in part, and nearly all of them.
const SOME: u32 = 2;
const MANY: u32 = 4;
/// A launch: blocks per multiprocessor, and multiply-adds per element.
type LaunchCase = (u32, u32);

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    // More than the caches hold. On a model, input and output together are 8/15 of its L2 cache or more: it finds nothing there of a
    // kernel's data that exceed half of it.
    let cache = (part.device().l2_cache()? >> 20) as usize;
    let modelled = ByteSize::mib((4 * cache / 15).max(16));
    let lines = part.elements_by_times::<[f32; 32]>(ByteSize::mib(256), modelled)?;
    let mut work = DeviceArray::new(32 * lines)?;
    let before = work.ceilings(part)?;
    let balance = before.balance(&ROUNDS);
    part.predict(format!(
        "{} elements in and out take {} of memory, {balance} multiply-adds of each {} of arithmetic.\n\
         One after the other they take the sum, at the same time the longer of both: the gain is greatest at\n\
         {balance} multiply-adds, at most {}, and small where either takes nearly all of the time.",
        32 * lines,
        units::time(before.memory()),
        units::time(before.arithmetic(balance)),
        units::ratio(before.gain(balance)),
    ));
    let all = part.capable(&forms::ALL, forms::needs)?;
    let forms = Forms::load(&all, part.device().multiprocessors()?)?;

    // One block with all rounds; more blocks at the balance and at both ends, and more still at the balance.
    let [first, .., last] = ROUNDS;
    let mut cases: Vec<LaunchCase> = ROUNDS.map(|rounds| (1, rounds)).into();
    cases.extend(
        [SOME, MANY].map(|blocks| [first, balance, last].map(|rounds| (blocks, rounds))).concat(),
    );
    cases.push((6, balance));
    cases.dedup();
    let group = |(blocks, rounds): LaunchCase| {
        let text = format!("{rounds} rounds, {blocks} blocks per multiprocessor");
        Label::new(format!("rounds-{rounds}/blocks-{blocks}"), text)
    };
    let found = part.contest(
        "intensity/elements",
        &mut work,
        (&cases, group),
        (&all, forms::label),
        |work, case, form| work.launch(&forms, case, form),
    )?;
    let ceilings = before.or_less(work.ceilings(part)?);
    let titles = ["unspecialised", "named barriers", "cp.async", "bulk"];
    let columns = titles.into_iter().zip(forms::ALL);
    part.show_contest(&found, ["blocks per SM", "rounds"], columns, |(blocks, rounds)| {
        let case = [blocks.to_string(), rounds.to_string()];
        (case, ceilings.bound(rounds))
    });
    let headline = format!("At {balance} rounds, specialised with one block per SM");
    let at_balance = |(_, rounds)| rounds == balance;
    let best = part.show_best(&found, ((1, balance), &headline), at_balance)?;
    let [one_block, fair] = best.map(units::ratio);
    part.take_away(format!(
        "Specialising warps gains {one_block} with one block per SM, {fair} best against best: several blocks overlap too."
    ));
    expect::expect(part, &found, &ceilings, balance)?;
    batches::compare(part, &forms, found.fastest((1, balance))?.0, balance)
}
