//! Timing one piece of work at many points, such as sizes or numbers of chunks.
//!
//! Like variants of a [`crate::measure::Comparison`], the points are warmed up and then visited in turn.

use crate::device::TimeSource;
use crate::part::Part;
use crate::statistics::Durations;
use std::array;
use std::time::Duration;

/// Visits each of `points`, as often as `--iterations` or else `runs` says, and returns the `N` times
/// that `body` takes there, in the order of the points. The second argument of `body` says that the results of
/// this visit are to be checked: those of the last, with `--validate` those of each.
pub fn sweep<P, E, const N: usize>(
    part: &Part,
    runs: usize,
    points: &[P],
    mut body: impl FnMut(&P, bool) -> Result<[Duration; N], E>,
) -> Result<Vec<[Durations; N]>, E> {
    // A model has nothing to warm up.
    let warm_up = usize::from(part.device().times() == TimeSource::Measured);
    let rounds = warm_up + part.iterations(runs).max(1);
    let mut found: Vec<[Vec<Duration>; N]> = points
        .iter()
        .map(|_| array::from_fn(|_| Vec::new()))
        .collect();
    for round in 1..=rounds {
        let check = part.options().validate || round == rounds;
        for (point, found) in points.iter().zip(&mut found) {
            for (times, time) in found.iter_mut().zip(body(point, check)?) {
                times.push(time);
            }
        }
    }
    let timed =
        |mut times: Vec<_>| Durations::new(times.split_off(warm_up)).expect("a timed round");
    Ok(found.into_iter().map(|found| found.map(timed)).collect())
}
