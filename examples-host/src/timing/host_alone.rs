//! Timing what the host does between stages of the device, alone.

use crate::host_clock;
use crate::part::Part;
use std::time::Duration;

impl Part<'_> {
    /// The host's time for `body(0)` … `body(count - 1)` together, without the time of the `prepare` that comes before each.
    ///
    /// # Errors
    /// What `prepare` returns.
    pub fn host_alone<S>(
        &self,
        count: usize,
        work: &mut S,
        mut prepare: impl FnMut(&mut S, usize) -> anyhow::Result<()>,
        mut body: impl FnMut(&mut S, usize),
    ) -> anyhow::Result<Duration> {
        let mut total = Duration::ZERO;
        for index in 0..count {
            prepare(work, index)?;
            let start = host_clock::now();
            body(work, index);
            total += host_clock::now() - start;
        }
        Ok(total)
    }
}
