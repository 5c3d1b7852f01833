//! The least time of a piece of work right behind another: what the other leaves in the device's cache is still there.

use crate::measure::Stopwatch;
use crate::part::Part;
use cust::stream::Stream;
use std::time::Duration;

impl Part<'_> {
    /// The least event time of `body`, which runs several times, each time after `before`, which is not timed.
    ///
    /// # Errors
    /// What `before` or `body` returns, or the driver.
    pub fn least_after<'s, W>(
        &self,
        streams: impl IntoIterator<Item = &'s Stream> + Clone,
        work: &mut W,
        before: impl Fn(&mut W) -> anyhow::Result<()>,
        body: impl Fn(&mut W) -> anyhow::Result<()>,
    ) -> anyhow::Result<Duration> {
        let watch = Stopwatch::new(self.device())?;
        let mut least = Duration::MAX;
        for _ in 0..=self.iterations(5) {
            before(work)?;
            let sample = watch.time(streams.clone(), || body(work))?;
            least = least.min(sample.event);
        }
        Ok(least)
    }
}
