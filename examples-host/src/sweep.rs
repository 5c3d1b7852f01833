//! Timing one piece of work at many points, such as sizes or numbers of chunks.
//!
//! Like variants of a [`crate::measure::Comparison`], the points are warmed up and then visited in turn.

use crate::device::TimeSource;
use crate::error::Error;
use crate::measure::Sample;
use crate::part::Part;
use crate::statistics::Durations;

/// Times `body` at each of `points`, as often as `--iterations` or else `runs` says, and returns the
/// event times in the order of the points. The second argument of `body` says that this visit of the
/// point is the last: the one to check the results of.
pub fn sweep<P, E: From<Error>>(
    part: &Part,
    runs: usize,
    points: &[P],
    mut body: impl FnMut(&P, bool) -> Result<Sample, E>,
) -> Result<Vec<Durations>, E> {
    let runs = part.iterations(runs);
    // A model has nothing to warm up.
    let warm_up = usize::from(part.device().times() == TimeSource::Measured);
    let rounds = warm_up + runs;
    let mut times = vec![Vec::with_capacity(rounds); points.len()];
    for round in 1..=rounds {
        for (point, times) in points.iter().zip(&mut times) {
            times.push(body(point, round == rounds)?.event);
        }
    }
    let after_warm_up = |mut times: Vec<_>| Durations::new(times.split_off(warm_up));
    Ok(times.into_iter().filter_map(after_warm_up).collect())
}
