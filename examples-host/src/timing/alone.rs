//! Timing pieces of the work alone: what bounds are made of.

use crate::expect::{Expected, share};
use crate::measure::Stopwatch;
use crate::part::Part;
use crate::statistics::Durations;
use anyhow::Context;
use cust::stream::Stream;
use std::time::Duration;

/// A bound, and how near to it a variant comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// The least time of what bounds.
    pub bound: Duration,
    /// The median, over pairs of runs, of the share of the bound that the variant reaches.
    pub share: f64,
}

impl Reached {
    /// The share, and what is required of it for `bytes` in each direction: starting copies, filling and draining cost the
    /// less, the more data there is.
    pub fn near_bound(&self, bytes: usize) -> Expected {
        share(self.share).at_least(match bytes >> 20 {
            1024.. => 0.97,
            256.. => 0.95,
            64.. => 0.85,
            16.. => 0.70,
            _ => 0.40,
        })
    }
}

impl Part<'_> {
    /// The median event time of a piece of work without the others: what `body` enqueues in `streams`.
    ///
    /// # Errors
    /// What `body` returns, or the driver.
    pub fn alone<'s>(
        &self,
        streams: impl IntoIterator<Item = &'s Stream> + Clone,
        body: impl FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<Duration> {
        let runs = self.iterations(5);
        Stopwatch::new(self.device())?.median(runs, streams, body)
    }

    /// Times what bounds a variant and the variant itself in turn: what disturbs the one disturbs the other, and the
    /// median of the pairs' shares leaves it out. The bound is the least of all its times. `work` is passed to both.
    ///
    /// # Errors
    /// What the bodies return, or the driver.
    pub fn reached<'s, S>(
        &self,
        streams: impl IntoIterator<Item = &'s Stream> + Clone,
        work: &mut S,
        mut bound: impl FnMut(&mut S) -> anyhow::Result<()>,
        mut variant: impl FnMut(&mut S) -> anyhow::Result<()>,
    ) -> anyhow::Result<Reached> {
        let watch = Stopwatch::new(self.device())?;
        let (mut bounds, mut shares) = (Vec::new(), Vec::new());
        for round in 0..=self.iterations(15) {
            let alone = watch.time(streams.clone(), || bound(work))?.event;
            let whole = watch.time(streams.clone(), || variant(work))?.event;
            // The first round warms up.
            if round > 0 {
                bounds.push(alone);
                shares.push(alone.as_secs_f64() / whole.as_secs_f64());
            }
        }
        shares.sort_by(f64::total_cmp);
        Ok(Reached {
            bound: Durations::new(bounds).context("no round was timed")?.min(),
            share: shares[shares.len() / 2],
        })
    }
}
