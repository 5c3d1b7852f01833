//! Measurements and claims of the part `in-flight`.

use super::known::CheckedAttention;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::expect::checked;
use examples_host::prelude::*;

const STAGES: [u32; 4] = [1, 2, 4, 6];

/// The multiprocessor's clock when each page's copies were issued, and when they had come.
struct Stamps {
    issued: Vec<u64>,
    come: Vec<u64>,
}

impl Stamps {
    /// From the times of all issues, and behind them those of all arrivals.
    fn new(stamps: &[u64]) -> Self {
        let (issued, come) = stamps.split_at(stamps.len() / 2);
        Self { issued: issued.to_vec(), come: come.to_vec() }
    }

    /// For each page, how many are on their way when it is issued, itself included.
    fn on_their_way(&self) -> Vec<usize> {
        let at = |page: usize| {
            let earlier = self.come[..page].iter();
            1 + earlier.filter(|come| **come > self.issued[page]).count()
        };
        (0..self.issued.len()).map(at).collect()
    }

    /// Cycles from a page's issue to its arrival, on average, and from one arrival to the next.
    fn cycles(&self) -> [u64; 2] {
        let pages = self.issued.len() as u64;
        let ways = self.issued.iter().zip(&self.come).map(|(issued, come)| come - issued);
        let (first, last) = (self.come[0], self.come[self.come.len() - 1]);
        [ways.sum::<u64>() / pages, (last - first) / (pages - 1)]
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [stream] = &stream::non_blocking_named(["attention"])?;
    let mut known = CheckedAttention::new(part)?;
    known.attention.allow_stages()?;
    part.predict(
        "As many pages are on their way as there are stages, at the beginning; later as many as memory brings\n\
         while one is used. The time of a page's way does not shrink: what shrinks is the time between pages.",
    );

    let titles = ["stages", "most on their way", "on average", "cycles of a way", "between pages"];
    let mut table = Table::new(titles);
    let mut found = Vec::new();
    for stages in STAGES {
        known.poison()?;
        let stamps = Stamps::new(&known.attention.stamped(stages, stream)?);
        let (right, counts, [way, between]) =
            (known.check(), stamps.on_their_way(), stamps.cycles());
        let most = counts.iter().copied().max().unwrap_or(0);
        let mean = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
        table.row([
            stages.to_string(),
            most.to_string(),
            units::digits(mean),
            way.to_string(),
            between.to_string(),
        ]);
        let in_order = stamps.issued.is_sorted() && stamps.come.is_sorted();
        found.push((stages, most, between, in_order, checked(right, "elements")?));
    }
    part.say(table);
    let between = |stages| found.iter().find(|of| of.0 == stages).map_or(0, |of| of.2);
    let gain = ratio(between(1) as f64 / between(4).max(1) as f64);
    for (stages, most, _, in_order, right) in found {
        let order = truth(in_order, if in_order { "in order" } else { "out of order" }, "in order");
        expect! { part;
            "stages-{stages}/on-their-way", "{stages} stages: so many pages on their way" => exactly(most, stages as usize);
            "stages-{stages}/in-order", "{stages} stages: pages come in order" => order;
            "stages-{stages}/elements", "{stages} stages: every element is right" => right;
        }
    }
    expect! { part; "shorter/stages-4", "4 stages: less time between pages than with 1" => gain.at_least(1.05); }
    part.take_away(
        "Look at the clock: pages are on their way together only if a stage is free for each.",
    );
    Ok(())
}
