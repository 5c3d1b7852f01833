//! in-flight: how many pages are really on their way?
//!
//! A ring of stages proves nothing by itself: a producer that waits for each page before it asks for the next has one on its way,
//! however many stages there are. So the first block looks at the multiprocessor's clock: the thread that fetches, when it issues a
//! page's copies; and a witness, a thread that does nothing else, when the page has come.
//!
//! ```text
//! page 0  |I------C                |    I: issued   C: come
//! page 1  | I------C               |
//! page 2  |          I------C      |    2 stages: page 2 is issued when page 0 has been used
//! page 3  |           I------C     |
//! ```
//!
//! A page is on its way from its issue to its arrival. At every issue the pages are counted that are on their way, that one
//! included. Two stages with never more than one page on its way, or more pages than stages, would prove this wrong.

use crate::cache::{Cache, Stamps};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;

const STAGES: [u32; 4] = [1, 2, 4, 6];

impl Stamps {
    /// For each page, how many are on their way when it is issued, itself included.
    fn on_their_way(&self) -> Vec<usize> {
        let at = |page: usize| {
            let earlier = self.come[..page].iter();
            1 + earlier.filter(|come| **come > self.issued[page]).count()
        };
        (0..self.issued.len()).map(at).collect()
    }

    /// Cycles from a page's issue to its arrival, in the mean, and from one arrival to the next.
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
    let mut cache = Cache::new(part)?;
    cache.allow_stages()?;
    part.predict(
        "As many pages are on their way as there are stages, at the beginning; later as many as memory brings\n\
         while one is used. The time of a page's way does not shrink: what shrinks is the time between pages.",
    );

    let titles = ["stages", "most on their way", "in the mean", "cycles of a way", "between pages"];
    let mut table = Table::new(titles);
    let mut found = Vec::new();
    for stages in STAGES {
        cache.poison()?;
        let stamps = cache.attend_stamped(stages, stream)?;
        let (checked, counts, [way, between]) =
            (cache.check(), stamps.on_their_way(), stamps.cycles());
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
        let right = examples_host::expect::checked(checked, "elements")?;
        found.push((stages, most, between, in_order, right));
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
