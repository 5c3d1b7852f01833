//! warp-specialised: what does warp specialisation gain inside a kernel, and what do streams gain around it?
//!
//! A kernel that works on tiles loads a tile into shared memory and computes with it. If all warps do both, with a barrier
//! in between, a block that loads does not compute and a block that computes does not load. *Specialised* warps divide
//! the work: producers do nothing but fill the stages of a ring in shared memory, consumers do nothing but compute.
//! Barriers of single stages hand the tiles over, one for "full", one for "empty"; none that all warps wait at is in the
//! loop.
//!
//! ```text
//! unspecialised  all       |LLL CCC LLL CCC LLL CCC
//! specialised    producers |LLL lll LLL lll
//!                consumers |    CCC ccc CCC ccc
//! ```
//!
//! With M for the time that memory needs and A for that of the arithmetic, the one takes M + A, the other the longer of
//! both: most is gained where they are equal. But a block that waits for memory leaves room for another: several blocks on one
//! multiprocessor overlap each other's phases without any producer. The gain with one block is a headline; the fair question is
//! what the best specialised launch gains over the best unspecialised one, each with the number of blocks that suits it.
//! Producers that load by plain loads hold what they load in registers: they are no match for copies that need none.
//!
//! Around the kernel, streams do the same with copies and kernels, and each batch has memory from a pool, in the order of
//! its stream. The two gains are measured one at a time. A time below the bounds, a form whose results differ in a bit, or,
//! with two blocks, a gain where memory or arithmetic is all there is, would prove this wrong.

mod batches;
mod forms;
mod work;

use anyhow::{Context, Result};
use cuda_host::{kernels, launch};
use cust::memory::{AsyncCopyDestination, DeviceBuffer};
use examples_host::ceilings::Ceilings;
use examples_host::contest::Contest;
use examples_host::prelude::*;
use forms::{Form, Forms};
use gpu_kernels::{FACTOR, SM_70, SUMMAND};
use work::Work;

kernels! { use gpu_kernels::affine_rounds_x4; }

/// Multiply-adds per element: from nearly nothing but memory to nearly nothing but arithmetic.
const ROUNDS: [u32; 5] = [1, 16, 32, 64, 256];
/// Blocks per multiprocessor that overlap each other's phases in part, and nearly all of them.
const SOME: u32 = 2;
const MANY: u32 = 4;
/// The most of its bound that a kernel reaches. The ceilings are those of two plain kernels, and another may make a little
/// more of the same memory or arithmetic.
const CEILING: f64 = 1.06;
const REASON: &str = "the few tiles of each block that a model is given begin and end together, and what that costs \
                      is as large as what producers gain";
/// A launch: blocks per multiprocessor, and multiply-adds per element.
type Case = (u32, u32);

impl Work {
    /// What memory and arithmetic allow: copies within the device, and multiply-adds of elements in registers.
    fn ceilings(&mut self, part: &Part) -> Result<Ceilings> {
        let (Self { stream, input, output, .. }, kernels) = (self, Kernels::load(SM_70)?);
        let blocks = 2 * part.device().multiprocessors()?;
        let in_registers = blocks as usize * 256 * 4;
        let mut registers = DeviceBuffer::<f32>::zeroed(in_registers)?;
        let copy = |len: usize| {
            let (from, mut to) = (input.index(..len), output.index(..len));
            // SAFETY: both buffers outlive the copy.
            unsafe { to.async_copy_from(&from, stream)? };
            Ok(())
        };
        let compute = |rounds| {
            let (kernel, data) = (&kernels.affine_rounds_x4, &mut registers);
            // SAFETY: the buffer outlives the kernel, and the grid has a thread for every four elements.
            unsafe { launch!(kernel<<<blocks, 256, 0, stream>>>(data, FACTOR, SUMMAND, rounds))? };
            Ok(())
        };
        part.ceilings(input.len(), in_registers, copy, compute)
    }

    fn launch(&mut self, forms: &Forms, (blocks, rounds): Case, form: Form) -> Result<()> {
        self.launched = rounds;
        // SAFETY: the arrays are of equal length and outlive the kernel.
        unsafe { forms.launch(form, blocks, (&self.input, &mut self.output), rounds, &self.stream) }
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    // More than the caches hold. On a model, input and output together are 8/15 of its L2 cache or more: it finds nothing there of a
    // kernel's data that exceed half of it.
    let cache = (part.device().l2_cache()? >> 20) as usize;
    let modelled = ByteSize::mib((4 * cache / 15).max(16));
    let lines = part.elements_by_times::<[f32; 32]>(ByteSize::mib(256), modelled)?;
    let mut work = Work::new(32 * lines)?;
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
    let forms = Forms::load(part)?;

    // One block with all rounds; more blocks at the balance and at both ends, and more still at the balance.
    let [first, .., last] = ROUNDS;
    let mut cases: Vec<Case> = ROUNDS.map(|rounds| (1, rounds)).into();
    cases.extend(
        [SOME, MANY].map(|blocks| [first, balance, last].map(|rounds| (blocks, rounds))).concat(),
    );
    cases.push((6, balance));
    cases.dedup();
    let group = |(blocks, rounds): Case| {
        let text = format!("{rounds} rounds, {blocks} blocks per multiprocessor");
        Label::new(format!("rounds-{rounds}/blocks-{blocks}"), text)
    };
    let found = part.contest(
        "intensity/elements",
        &mut work,
        (&cases, group),
        (&forms.all, Form::label),
        |work, case, form| work.launch(&forms, case, form),
    )?;
    let ceilings = before.or_less(work.ceilings(part)?);
    let titles = ["unspecialised", "named barriers", "cp.async", "bulk"];
    let columns = titles.into_iter().zip(Form::ALL);
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
    expect(part, &found, &ceilings, balance)?;
    batches::compare(part, &forms, found.fastest((1, balance))?.0, balance)
}

fn expect(
    part: &mut Part,
    found: &Contest<Case, Form>,
    ceilings: &Ceilings,
    balance: u32,
) -> Result<()> {
    let [first, .., last] = ROUNDS;
    let one_block = ratio(found.gain((1, balance))?);
    let plain =
        found.time((1, balance), Form::Unspecialised).context("the plain kernel was not timed")?;
    let possible = 1.0 / ceilings.reached(balance, plain);
    let at_ends = found.gain((SOME, first))?.max(found.gain((SOME, last))?);
    let more = ratio(found.gain((SOME, balance))? / at_ends).at_least(1.05);
    let has_async_copies = found.time((1, balance), Form::CpAsync).is_some();
    // Without them, no specialised form is meant to come near.
    let best = |case| match has_async_copies {
        true => Ok(found.fastest(case)?.1),
        false => found.time(case, Form::Unspecialised).context("the plain kernel was not timed"),
    };
    let (memory, arithmetic) = (best((MANY, first))?, best((MANY, last))?);
    let reached = found.all().map(|((_, rounds), time)| ceilings.reached(rounds, time));
    let highest = share(reached.fold(0.0, f64::max)).at_most(CEILING);
    if has_async_copies {
        // Where the plain kernel is near its bound already, half of what is left.
        let least = f64::midpoint(1.0, possible).clamp(1.02, 1.15);
        expect! { part;
            "intensity/not-slower", "one block per SM: specialised is not slower at the balance" => one_block.at_least(0.98);
            "intensity/faster", "one block per SM: specialised is faster at the balance" => one_block.at_least(least);
        }
    } else {
        part.say("Not claimed of this device: specialised warps are faster. It has no copies that pass registers by.");
    }
    expect! { part;
        "intensity/gain-at-balance", "2 blocks per SM: the gain at the balance is greater than at both ends" =>
            more.not_of_the_model(REASON);
        "intensity/memory", "few rounds come near what memory gives" =>
            share(ceilings.reached(first, memory)).at_least(0.8);
        "intensity/arithmetic", "many rounds come near what arithmetic gives" =>
            share(ceilings.reached(last, arithmetic)).at_least(0.85);
        "intensity/not-below-bound", "no kernel passes its bound" => highest;
    }
    Ok(())
}
