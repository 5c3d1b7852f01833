//! growth: pages are allocated when tokens begin them, and go back when a sequence ends.
//!
//! How long a sequence will be is not known when it begins. One piece of memory for the longest that may come wastes
//! what the others do not fill. Pages, taken from a pool in the order of the appending stream, waste less than one page
//! per layer and sequence, and the page table hides that they are not neighbours:
//!
//! ```text
//! one piece |tttttttttt......................|tttt............................|
//! pages     |tttt|tttt|tt..|                 |tttt|
//! ```
//!
//! The host waits for nothing: the page is the stream's when the append runs. When a sequence ends, its pages go back to
//! the pool behind its last append, and the next sequence gets them. Memory in use beyond the pages, or a pool that grows
//! although it has free pages enough, would prove this wrong.

mod sequence;

use crate::cache::Kernels;
use crate::model::{LAYERS, TOKEN_BYTES, page_len};
use crate::size::{self, Pages};
use cuda_host::MemoryPool;
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use cust::memory::AsyncCopyDestination;
use cust::stream::Stream;
use examples_host::call_times::timed;
use examples_host::pool_use::PoolUse;
use examples_host::prelude::*;
use sequence::{Growing, Sequence};

/// Per cent of the longest that each sequence reaches.
const LENGTHS: [usize; 4] = [14, 35, 58, 100];
/// The one that ends first.
const ENDS: usize = 2;
/// How many come and go then, and how long those are.
const COME: usize = 10;
const COMING: usize = 45;

impl Growing {
    /// Takes one more page from the pool and enters it into the table, in the order of the stream. The memory is cleared,
    /// so that what an earlier sequence left cannot pass for a token.
    fn add_page(&mut self, pool: &MemoryPool, append: &Stream) -> anyhow::Result<()> {
        let number = self.cache.pages.len();
        // SAFETY: whatever uses the page comes behind its allocation in the same stream; the entries outlive the copies.
        unsafe {
            let mut page = pool.alloc_async(page_len(self.cache.table.page_tokens), append)?;
            page.set_8_async(0xFF, append)?;
            self.entries[number] = page.as_device_ptr();
            let mut entry = self.cache.table.addresses.index(number..number + 1);
            entry.async_copy_from(&self.entries[number..number + 1], append)?;
            self.cache.pages.push(page);
        }
        Ok(())
    }
}

impl Sequence {
    /// Appends tokens, one by one, up to a share of the length. Tokens that begin a page get one from the pool.
    fn grow_to(&mut self, quarters: usize, growth: &Growth) -> anyhow::Result<()> {
        let (pool, append) = (&growth.pool, &growth.append);
        for token in self.tokens..self.length * quarters / 4 {
            for layer in &mut self.layers {
                if token.is_multiple_of(growth.page_tokens) {
                    layer.add_page(pool, append)?;
                }
                layer.cache.append(&growth.kernels, token..token + 1, append)?;
            }
            self.tokens = token + 1;
        }
        Ok(())
    }

    /// Gives the pages back, behind what the stream was given so far.
    fn end(&mut self, append: &Stream) -> anyhow::Result<()> {
        for page in self.layers.iter_mut().flat_map(|layer| layer.cache.pages.drain(..)) {
            page.drop_async(append)?;
        }
        Ok(())
    }
}

/// What all sequences share.
struct Growth {
    append: Stream,
    pool: MemoryPool,
    kernels: Kernels,
    longest: usize,
    page_tokens: usize,
}

impl Growth {
    fn check(
        &self,
        sequences: &[Sequence],
        checked: &mut Result<Checked, check::Mismatch>,
    ) -> anyhow::Result<()> {
        let mut sequences = sequences.iter();
        sequences.try_for_each(|sequence| check::add(checked, sequence.check(&self.append)))
    }

    fn begin(&self, number: usize, percent: usize) -> anyhow::Result<Sequence> {
        let length = (self.longest * percent).div_ceil(100);
        Sequence::new(number, length, self.page_tokens)
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let [append] = stream::non_blocking_named(["append"])?;
    let longest = size::tokens(part)?.unwrap_or(256);
    let page_tokens = Pages::of(part).hold(longest)?;
    let growth = Growth {
        append,
        pool: MemoryPool::new(CurrentContext::get_device()?)?,
        kernels: Kernels::load(gpu_kernels::SM_70)?,
        longest,
        page_tokens,
    };
    growth.pool.set_release_threshold(u64::MAX)?;
    let (token, page) = (LAYERS * TOKEN_BYTES, page_tokens * TOKEN_BYTES);
    let numbered = LENGTHS.iter().enumerate();
    let mut sequences = numbered
        .map(|(number, &percent)| growth.begin(number, percent))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let lengths: Vec<String> =
        sequences.iter().map(|sequence| sequence.length.to_string()).collect();
    part.predict(format!(
        "Sequences of {} tokens, where up to {longest} are possible: one piece each would take {}.\n\
         Pages of {page_tokens} tokens take {} each. At most one per layer and sequence is not full.",
        lengths.join(", "),
        units::bytes((LENGTHS.len() * longest * token) as u64),
        units::bytes(page as u64),
    ));

    let mut held = PoolUse::new(&growth.pool, page);
    let of = |sequences: &[Sequence]| {
        let (pages, tokens) =
            (sequences.iter().map(Sequence::pages), sequences.iter().map(|s| s.tokens));
        (pages.sum(), tokens.sum::<usize>() * token)
    };
    let mut checked = Ok(Checked::default());
    let mut grown = held.note("nothing", (0, 0))?;
    let ((), mut calls) = timed(|| {
        for quarters in 1..=4 {
            for sequence in &mut sequences {
                sequence.grow_to(quarters, &growth)?;
            }
            grown = held.note(&format!("{quarters} of 4 quarters"), of(&sequences))?;
        }
        anyhow::Ok(())
    })?;
    growth.check(&sequences, &mut checked)?;
    let mut ended = sequences.remove(ENDS);
    calls.append(&mut timed(|| ended.end(&growth.append))?.1);
    let ended = held.note("one ends", of(&sequences))?;
    let mut passed = 0;
    for number in LENGTHS.len()..LENGTHS.len() + COME {
        let mut coming = [growth.begin(number, COMING)?];
        coming[0].grow_to(4, &growth)?;
        growth.check(&coming, &mut checked)?;
        passed += coming[0].pages() * page;
        coming[0].end(&growth.append)?;
    }
    let again = held.note(&format!("{COME} come and go"), of(&sequences))?;
    growth.check(&sequences, &mut checked)?;
    for sequence in &mut sequences {
        sequence.end(&growth.append)?;
    }
    let empty = held.note("all end", (0, 0))?;

    part.say(&held);
    part.say("A pool takes memory from the device in large pieces, which the driver chooses, and cuts the pages from them.");
    let waited = truth(calls.waits == 0, format!("{} waits", calls.waits), "none");
    expect! { part; "no-waits", "the host waits for nothing while a cache grows and ends" => waited; }
    part.say_allocations(page, calls);
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
