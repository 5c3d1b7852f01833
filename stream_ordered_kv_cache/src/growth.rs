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

use crate::model::{LAYERS, TOKEN_BYTES};
use crate::pages::Kernels;
use crate::size;
use examples_host::memory_pool::MemoryPool;
use examples_host::prelude::*;
use examples_host::statistics::Durations;
use gpu_kernels::SM_70;
use sequence::{Sequence, page_bytes};
use std::time::Duration;

/// Per cent of the longest that each sequence reaches.
const LENGTHS: [usize; 4] = [14, 35, 58, 100];
/// The one that ends first.
const ENDS: usize = 2;
/// How long those are that come and go then, and how many.
const COMING: usize = 45;
const COME: usize = 10;

/// What is allocated and what of it holds tokens.
struct Row {
    when: String,
    tokens: usize,
    pages: usize,
    used: u64,
    reserved: u64,
}

/// What was found: when what was held, what was checked, and what went through the pool at the end.
struct Found {
    rows: Vec<Row>,
    checked: Result<Checked, check::Mismatch>,
    /// Bytes of the pages of the sequences that came and went.
    passed: u64,
    /// What each page's allocation took the host.
    calls: Vec<Duration>,
}

/// Sequences of up to so many tokens, in pages of so many.
struct Growth<'a> {
    device: &'a Device,
    append: Stream,
    kernels: Kernels,
    pool: MemoryPool,
    longest: usize,
    page_tokens: usize,
}

impl Growth<'_> {
    fn length(&self, percent: usize) -> usize {
        (self.longest * percent).div_ceil(100)
    }

    fn begin(&self, number: usize, percent: usize) -> anyhow::Result<Sequence> {
        Sequence::new(&self.append, number, self.length(percent), self.page_tokens)
    }

    /// What the sequences hold and the pool has, when the host has waited for all.
    fn row(&self, when: &str, sequences: &[Sequence]) -> anyhow::Result<Row> {
        self.device.synchronize()?;
        let held = self.pool.statistics()?;
        Ok(Row {
            when: when.to_owned(),
            tokens: sequences.iter().map(Sequence::tokens).sum(),
            pages: sequences.iter().map(Sequence::pages).sum(),
            used: held.used,
            reserved: held.reserved,
        })
    }

    /// Some sequences grow, one ends, others come and go, and all end.
    fn live(&self) -> anyhow::Result<Found> {
        let numbered = LENGTHS.iter().enumerate();
        let mut sequences = numbered
            .map(|(number, &percent)| self.begin(number, percent))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let mut found = Found {
            rows: vec![self.row("nothing", &[])?],
            checked: Ok(Checked::default()),
            passed: 0,
            calls: Vec::new(),
        };
        self.grow(&mut sequences, &mut found)?;
        check_all(&sequences, &mut found)?;
        drop(sequences.remove(ENDS));
        found.rows.push(self.row("one ends", &sequences)?);
        self.come_and_go(&mut found)?;
        let when = format!("{COME} come and go");
        found.rows.push(self.row(&when, &sequences)?);
        check_all(&sequences, &mut found)?;
        found.calls = sequences.iter().flat_map(Sequence::allocations).collect();
        drop(sequences);
        found.rows.push(self.row("all end", &[])?);
        Ok(found)
    }

    fn grow(&self, sequences: &mut [Sequence], found: &mut Found) -> anyhow::Result<()> {
        for quarter in 1..=4 {
            for sequence in &mut *sequences {
                sequence.grow_to(quarter, 4, &self.pool, &self.kernels)?;
            }
            let when = format!("{quarter} of 4 quarters");
            found.rows.push(self.row(&when, sequences)?);
        }
        Ok(())
    }

    fn come_and_go(&self, found: &mut Found) -> anyhow::Result<()> {
        for number in LENGTHS.len()..LENGTHS.len() + COME {
            let mut sequence = self.begin(number, COMING)?;
            sequence.grow_to(1, 1, &self.pool, &self.kernels)?;
            check::add(&mut found.checked, sequence.check())?;
            found.passed += sequence.pages() as u64 * page_bytes(self.page_tokens);
        }
        Ok(())
    }
}

fn check_all(sequences: &[Sequence], found: &mut Found) -> anyhow::Result<()> {
    sequences
        .iter()
        .try_for_each(|sequence| check::add(&mut found.checked, sequence.check()))
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let longest = size::tokens(part)?.unwrap_or(256);
    let page_tokens = size::page_tokens(part, longest)?;
    let growth = Growth {
        device: part.device(),
        append: Stream::non_blocking(part.device(), "append")?,
        kernels: Kernels::load(part.device(), SM_70)?,
        pool: MemoryPool::new(part.device())?,
        longest,
        page_tokens,
    };
    growth.pool.set_release_threshold(u64::MAX)?;
    let lengths = LENGTHS.map(|percent| growth.length(percent));
    predict(part, longest, page_tokens, &lengths);
    let found = growth.live()?;
    say(part, &found.rows, page_bytes(page_tokens), found.calls);
    let sentence = "every element of every page is right";
    part.claim_right("elements", sentence, "elements", &found.checked);
    judge(part, &found.rows, (longest, page_tokens), found.passed);
    Ok(())
}

fn predict(part: &mut Part, longest: usize, page_tokens: usize, lengths: &[usize]) {
    let token = (LAYERS * TOKEN_BYTES) as u64;
    let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
    part.predict(format!(
        "Sequences of {} tokens, where up to {longest} are possible: one piece each would take {}.\n\
         Pages of {page_tokens} tokens take {} each. At most one per layer and sequence is not full.",
        lengths.join(", "),
        units::bytes(lengths.len() as u64 * longest as u64 * token),
        units::bytes(page_bytes(page_tokens)),
    ));
}

fn say(part: &mut Part, rows: &[Row], page: u64, calls: Vec<Duration>) {
    let mut table = Table::new(["", "tokens", "hold", "pages", "used", "reserved"]);
    for row in rows {
        table.row([
            row.when.clone(),
            row.tokens.to_string(),
            units::bytes((row.tokens * LAYERS * TOKEN_BYTES) as u64),
            row.pages.to_string(),
            units::bytes(row.used),
            units::bytes(row.reserved),
        ]);
    }
    part.say(table);
    if let Some(first) = rows.iter().find(|row| row.reserved > 0) {
        part.say(format!(
            "Reserved are {} from the first pages on, for {} in use: a pool takes memory from the device in large\n\
             pieces, which the driver chooses, and cuts the pages from them.",
            units::bytes(first.reserved),
            units::bytes(first.used),
        ));
    }
    if let Some(calls) = Durations::new(calls) {
        part.say(format!(
            "A page of {} is allocated in {} (median; p99 {}) of the host's time.",
            units::bytes(page),
            units::time(calls.median()),
            units::time(calls.percentile(99)),
        ));
    }
}

fn judge(part: &mut Part, rows: &[Row], (longest, page_tokens): (usize, usize), passed: u64) {
    let page = page_bytes(page_tokens);
    let exact = rows
        .iter()
        .filter(|row| row.used == row.pages as u64 * page);
    let found = format!("{} of {} times", exact.count(), rows.len());
    let all = format!("{} of {} times", rows.len(), rows.len());
    let holds = found == all;
    part.claim(
        "all-in-use",
        "the pages are all that is in use",
        holds,
        found,
        all,
    );

    let [.., grown, ended, again, empty] = rows else {
        return;
    };
    let holds = |bytes: u64| (grown.tokens * LAYERS * TOKEN_BYTES) as f64 / bytes as f64;
    let one_piece = (LENGTHS.len() * longest * LAYERS * TOKEN_BYTES) as u64;
    let waste = (LENGTHS.len() * LAYERS) as u64 * page;
    let tokens = (grown.tokens * LAYERS * TOKEN_BYTES) as u64;
    part.claim(
        "waste",
        "less than a page per layer and sequence is not filled",
        grown.used < tokens + waste,
        format!(
            "{} holds tokens, of one piece each {}",
            units::percent(holds(grown.used)),
            units::percent(holds(one_piece))
        ),
        format!("more than {}", units::percent(holds(tokens + waste))),
    );
    part.claim(
        "ended-are-free",
        "the pages of a sequence that has ended are free",
        ended.used < grown.used && ended.reserved == grown.reserved,
        format!(
            "{} in use, {} reserved",
            units::bytes(ended.used),
            units::bytes(ended.reserved)
        ),
        format!("less than {} in use", units::bytes(grown.used)),
    );
    part.claim(
        "passed-on",
        "the next sequences get them",
        again.used == ended.used && again.reserved == ended.reserved,
        format!(
            "pages of {} in {} reserved",
            units::bytes(passed),
            units::bytes(again.reserved)
        ),
        format!("no more than {}", units::bytes(ended.reserved)),
    );
    part.claim(
        "nothing-left",
        "nothing is left in use",
        empty.used == 0,
        units::bytes(empty.used),
        "0 B",
    );
}
