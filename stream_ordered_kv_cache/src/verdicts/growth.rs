//! Measurements and claims of the part `growth`.

mod known;
mod pool_use;
mod step;

use super::model::TOKEN_BYTES;
use super::size::{self, Pages};
use crate::cache::LAYERS;
use crate::growth::Growth;
use examples_host::call_times::timed;
use examples_host::prelude::*;
use known::{CheckedGrowth, add};
use pool_use::{PoolUse, say_allocations};

/// Per cent of the longest that each sequence reaches.
const LENGTHS: [usize; 4] = [14, 35, 58, 100];
/// The one that ends first.
const ENDS: usize = 2;
/// How many come and go then, and how long those are.
const COME: usize = 10;
const COMING: usize = 45;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let longest = size::tokens(part)?.unwrap_or(256);
    let page_tokens = Pages::of(part).hold(longest)?;
    let growth = Growth::new(page_tokens)?;
    let begin = |number, percent: usize| {
        CheckedGrowth::new(number, (longest * percent).div_ceil(100), page_tokens)
    };
    let (token, page) = (LAYERS * TOKEN_BYTES, page_tokens * TOKEN_BYTES);
    let numbered = LENGTHS.iter().enumerate();
    let mut sequences = numbered
        .map(|(number, &percent)| begin(number, percent))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let lengths: Vec<String> =
        sequences.iter().map(|sequence| sequence.of.length.to_string()).collect();
    part.predict(format!(
        "Sequences of {} tokens, where up to {longest} are possible: one piece each would take {}.\n\
         Pages of {page_tokens} tokens take {} each. At most one per layer and sequence is not full.",
        lengths.join(", "),
        units::bytes((LENGTHS.len() * longest * token) as u64),
        units::bytes(page as u64),
    ));

    let mut held = PoolUse::new(&growth.pool, page);
    let of = |sequences: &[CheckedGrowth]| {
        let (pages, tokens) =
            (sequences.iter().map(CheckedGrowth::pages), sequences.iter().map(|s| s.of.tokens));
        (pages.sum(), tokens.sum::<usize>() * token)
    };
    let mut checked = Ok(Checked::default());
    let mut grown = held.note("nothing", (0, 0))?;
    let ((), mut calls) = timed(|| {
        for quarters in 1..=4 {
            for sequence in &mut sequences {
                growth.grow(&mut sequence.of, quarters)?;
            }
            grown = held.note(&format!("{quarters} of 4 quarters"), of(&sequences))?;
        }
        anyhow::Ok(())
    })?;
    add(&mut checked, &sequences, &growth)?;
    let mut ended = sequences.remove(ENDS);
    calls.append(&mut timed(|| growth.end(&mut ended.of))?.1);
    let ended = held.note("one ends", of(&sequences))?;
    let mut passed = 0;
    for number in LENGTHS.len()..LENGTHS.len() + COME {
        let mut coming = [begin(number, COMING)?];
        growth.grow(&mut coming[0].of, 4)?;
        add(&mut checked, &coming, &growth)?;
        passed += coming[0].pages() * page;
        growth.end(&mut coming[0].of)?;
    }
    let again = held.note(&format!("{COME} come and go"), of(&sequences))?;
    add(&mut checked, &sequences, &growth)?;
    for sequence in &mut sequences {
        growth.end(&mut sequence.of)?;
    }
    let empty = held.note("all end", (0, 0))?;

    part.say(&held);
    part.say("A pool takes memory from the device in large pieces, which the driver chooses, and cuts the pages from them.");
    let waited = truth(calls.waits == 0, format!("{} waits", calls.waits), "none");
    expect! { part; "no-waits", "the host waits for nothing while a cache grows and ends" => waited; }
    say_allocations(part, page, calls);
    let (waste, largest) = (LENGTHS.len() * LAYERS * page, LENGTHS.len() * longest * token);
    expect! { part;
        "elements", "every element of every page is right" => right(&checked, "elements");
        "all-in-use", "the pages are all that is in use" => held.exact();
        "waste", "less than a page per layer and sequence is not filled" => held.wastes_less_than(waste as u64, largest as u64);
        "ended-are-free", "the pages of a sequence that has ended are free" => ended.freed_since(&grown);
        "passed-on", "the next sequences get them" => again.no_more_than(&ended, passed);
        "kept", "the pool keeps their memory for the next" => empty.keeps(&again);
        "nothing-left", "nothing is left in use" => empty.nothing_in_use();
    }
    part.take_away(
        "Pages in stream order follow the cache's size, and the host waits for nothing.",
    );
    Ok(())
}
