//! Timing one piece of work at many points, with every element checked at each.

use crate::check::{self, Checked, Mismatch};
use crate::compare::Workload;
use crate::part::Part;
use crate::statistics::Durations;
use crate::sweep::sweep;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The findings at the points.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AtPoints {
    /// The times at each point, in the order of the points.
    pub times: Vec<Durations>,
    /// The elements of all points together, compared with the CPU's.
    pub checked: Result<Checked, Mismatch>,
}

impl Part<'_> {
    /// Visits the points in turn (see [`sweep`]), `runs` times unless `--iterations` says otherwise. At each, `work` is
    /// poisoned and `body` returns the time to note; the elements of the last visit, with `--validate` of each, are checked.
    ///
    /// # Errors
    /// What `work` or `body` returns, except for wrong elements.
    pub fn at_points<S: Workload, P>(
        &self,
        runs: usize,
        points: &[P],
        work: &mut S,
        mut body: impl FnMut(&mut S, &P) -> anyhow::Result<Duration>,
    ) -> anyhow::Result<AtPoints> {
        let mut checked = Ok(Checked::default());
        let times = sweep(self, runs, points, |point, check| {
            work.poison()?;
            let time = body(work, point)?;
            if check {
                check::add(&mut checked, work.check())?;
            }
            anyhow::Ok([time])
        })?;
        let times = times.into_iter().map(|[times]| times).collect();
        Ok(AtPoints { times, checked })
    }
}
