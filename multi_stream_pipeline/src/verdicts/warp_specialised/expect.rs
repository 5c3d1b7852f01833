//! What the forms of the kernel are claimed to gain.

use super::{LaunchCase, MANY, ROUNDS, SOME};
use crate::forms::Form;
use anyhow::{Context, Result};
use examples_host::ceilings::Ceilings;
use examples_host::contest::Contest;
use examples_host::prelude::*;

/// The most of its bound that a kernel reaches. The ceilings are those of two plain kernels, and another may make a little
/// more of the same memory or arithmetic.
const CEILING: f64 = 1.06;
const REASON: &str = "the few tiles of each block that a model is given begin and end together, and what that costs \
                      is as large as what producers gain";

pub fn expect(
    part: &mut Part,
    found: &Contest<LaunchCase, Form>,
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
