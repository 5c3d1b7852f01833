//! From results to expectations: the middle of the runs, and how far a further run may be from it.

use super::form::{ExpectedClaim, ExpectedPart, ExpectedTime, ExpectedTimeline, Observed};
use chapter_results::device::TimeSource;
use chapter_results::intervals::Recording;
use chapter_results::part::{Claim, PartResults, Timed, Timeline, Unit};
use hmac_sha256::Hash;
use std::collections::HashSet;

/// The largest tolerance, as a share of the value or, of a share, in itself. A figure whose runs are further apart judges nothing.
const LARGEST: f64 = 0.15;
/// The resolution of an event's clock: two times this close are the same, in microseconds.
const RESOLUTION_US: f64 = 1.0;
/// How near a model's figures are to the recorded ones when other parts ran before.
const NEAR: f64 = 0.01;
/// Shares of what could be shared: two this close are the same.
const SHARE: f64 = 0.05;

/// The least tolerance as a share of the value. One run says nothing of how runs differ, two say little.
fn floor(runs: usize) -> f64 {
    match runs {
        0 | 1 => LARGEST,
        2 => 0.1,
        _ => 0.05,
    }
}

/// A part in a run, with the hash of what ran before it.
pub struct PartRun<'a> {
    /// The part.
    pub part: &'a PartResults,
    /// See [`after`].
    pub after: String,
}

/// The entry of a part, of at least one run of the same work; `None` when two runs of a model differ, which must not
/// happen, or when there is no run. Measured runs are added to those of `earlier`, if that is given and of the same work.
pub fn part(
    times: TimeSource,
    runs: &[PartRun<'_>],
    earlier: Option<&ExpectedPart>,
) -> Option<ExpectedPart> {
    let first = runs.first()?;
    match times {
        TimeSource::Modelled => {
            let exact = |run: &PartRun<'_>| ExpectedPart {
                after: Some(run.after.clone()),
                ..modelled(run.part)
            };
            let same = |run: &PartRun<'_>| exact(run) == exact(first);
            runs.iter().all(same).then_some(ExpectedPart {
                runs: runs.len() as u32,
                ..exact(first)
            })
        }
        TimeSource::Measured => Some(measured(
            first.part,
            &runs.iter().map(|run| run.part).collect::<Vec<_>>(),
            earlier.filter(|earlier| earlier.workload == first.part.workload),
        )),
    }
}

fn measured(
    first: &PartResults,
    runs: &[&PartResults],
    earlier: Option<&ExpectedPart>,
) -> ExpectedPart {
    ExpectedPart {
        name: first.name.clone(),
        workload: first.workload.clone(),
        runs: runs.len() as u32 + earlier.map_or(0, |earlier| earlier.runs),
        after: None,
        plans: first.plans.clone(),
        times: first
            .timed
            .iter()
            .map(|timed| time(runs, timed, earlier))
            .collect(),
        claims: judged_in_any(runs)
            .map(|claim| measured_claim(runs, claim, earlier))
            .collect(),
        timelines: Vec::new(),
    }
}

/// What a model gives: itself.
pub fn modelled(part: &PartResults) -> ExpectedPart {
    let time = |timed: &Timed| ExpectedTime {
        us: Some(timed.compared_us()),
        ..untimed(timed)
    };
    let claim = |claim: &Claim| ExpectedClaim {
        id: claim.id.clone(),
        found: claim.figure.is_none().then(|| claim.found.clone()),
        value: claim.figure.map(|figure| figure.value),
        unit: claim.figure.map(|figure| figure.unit),
        tolerance: None,
    };
    let timeline = |timeline: &Timeline| ExpectedTimeline {
        variant: timeline.variant.id.clone(),
        hash: timeline_hash(&timeline.recording),
    };
    ExpectedPart {
        name: part.name.clone(),
        workload: part.workload.clone(),
        runs: 1,
        after: None,
        plans: part.plans.clone(),
        times: part.timed.iter().map(time).collect(),
        claims: judged(part).map(claim).collect(),
        timelines: part.timelines.iter().map(timeline).collect(),
    }
}

/// What is expected of a model's part that runs after others than the recorded ones: the same within 1 % or the clock's
/// resolution, and no timelines.
pub fn loosened(exact: &ExpectedPart) -> ExpectedPart {
    let us_tolerance = |us: f64| (NEAR * us.abs()).max(RESOLUTION_US);
    let time = |time: &ExpectedTime| ExpectedTime {
        tolerance_us: time.us.map(us_tolerance),
        ..time.clone()
    };
    let claim = |claim: &ExpectedClaim| ExpectedClaim {
        found: None,
        tolerance: claim.value.zip(claim.unit).map(|(value, unit)| match unit {
            Unit::Share => NEAR,
            Unit::Ratio => NEAR * value.abs(),
            Unit::Microseconds => us_tolerance(value),
        }),
        ..claim.clone()
    };
    ExpectedPart {
        times: exact.times.iter().map(time).collect(),
        claims: exact.claims.iter().map(claim).collect(),
        timelines: Vec::new(),
        ..exact.clone()
    }
}

/// A hash of the names and the work of the parts before the one of this name.
pub fn after(parts: &[PartResults], name: &str) -> String {
    let before = parts.iter().take_while(|part| part.name != name);
    hash(before.flat_map(|part| [part.name.clone(), part.workload.clone()]))
}

fn untimed(timed: &Timed) -> ExpectedTime {
    ExpectedTime {
        group: timed.group.id.clone(),
        variant: timed.variant.id.clone(),
        kind: timed.kind,
        us: None,
        tolerance_us: None,
        observed: None,
        ratio: None,
        ratio_tolerance: None,
        unclaimed: timed.unclaimed,
    }
}

/// What a part timed of a variant of a group, by their ids.
pub fn timed<'a>(part: &'a PartResults, group: &str, variant: &str) -> Option<&'a Timed> {
    let same = |timed: &&Timed| timed.group.id == group && timed.variant.id == variant;
    part.timed.iter().find(same)
}

/// How many times as long the first variant of its group took as this one; `None` for that variant.
pub fn ratio(part: &PartResults, timed: &Timed) -> Option<f64> {
    let is_sibling = |other: &&Timed| other.group.id == timed.group.id && other.kind == timed.kind;
    let first = part.timed.iter().find(is_sibling)?;
    let (first_us, us) = (first.compared_us(), timed.compared_us());
    (first.variant.id != timed.variant.id && first_us > 0.0 && us > 0.0).then(|| first_us / us)
}

/// The claims that are judged.
pub fn judged(part: &PartResults) -> impl Iterator<Item = &Claim> {
    part.claims.iter().filter(|claim| claim.judged)
}

/// The claims that are judged in any of the runs, each once: something may have disturbed one of them in the first.
fn judged_in_any<'r>(runs: &[&'r PartResults]) -> impl Iterator<Item = &'r Claim> {
    let mut seen = HashSet::new();
    let claims = runs.iter().flat_map(|run| judged(run));
    claims.filter(move |claim| seen.insert(&claim.id))
}

/// What was measured of this variant in each run.
fn time(runs: &[&PartResults], first: &Timed, earlier: Option<&ExpectedPart>) -> ExpectedTime {
    let (group, variant) = (&first.group.id, &first.variant.id);
    let in_runs: Vec<(&PartResults, &Timed)> = runs
        .iter()
        .filter_map(|run| Some((*run, timed(run, group, variant)?)))
        .collect();
    let mut times: Vec<f64> = in_runs
        .iter()
        .map(|(_, timed)| timed.compared_us())
        .collect();
    let earlier = earlier.and_then(|earlier| EarlierTime::of(earlier, group, variant));
    times.extend(earlier.iter().flat_map(EarlierTime::times));
    let us = middle(&times);
    let tolerance_us = tolerance(&times, RESOLUTION_US, LARGEST * us, 3);
    let observed = tolerance_us.is_none().then(|| Observed {
        us: rounded(us, 3),
        range_us: rounded_up(range(&times), 3),
    });
    let ratio = expected_ratio(&in_runs, runs.len(), us, earlier.as_ref());
    ExpectedTime {
        us: tolerance_us.map(|_| rounded(us, 3)),
        tolerance_us,
        observed,
        ratio: ratio.map(|(ratio, _)| rounded(ratio, 4)),
        ratio_tolerance: ratio.map(|(_, tolerance)| tolerance),
        ..untimed(first)
    }
}

/// The middle of the ratios to the group's first variant, and their tolerance; `None` for that variant, and where the runs are too far
/// apart.
fn expected_ratio(
    in_runs: &[(&PartResults, &Timed)],
    runs: usize,
    us: f64,
    earlier: Option<&EarlierTime<'_>>,
) -> Option<(f64, f64)> {
    let ratios = in_runs.iter().filter_map(|(run, timed)| ratio(run, timed));
    let mut ratios: Vec<f64> = ratios.collect();
    if ratios.len() != runs {
        return None;
    }
    if let Some(earlier) = earlier {
        ratios.extend(earlier.ratios()?);
    }
    let ratio = middle(&ratios);
    // In a ratio of short times the clock's resolution weighs more.
    let resolution = match us > 0.0 {
        true => RESOLUTION_US / us * ratio,
        false => 0.0,
    };
    Some((ratio, tolerance(&ratios, resolution, LARGEST * ratio, 4)?))
}

/// A time of an earlier recording.
struct EarlierTime<'a> {
    runs: u32,
    time: &'a ExpectedTime,
}

impl<'a> EarlierTime<'a> {
    fn of(earlier: &'a ExpectedPart, group: &str, variant: &str) -> Option<Self> {
        let same = |time: &&ExpectedTime| time.group == group && time.variant == variant;
        let time = earlier.times.iter().find(same)?;
        let runs = earlier.runs;
        Some(Self { runs, time })
    }

    /// What stands for the times of the earlier runs, in microseconds.
    fn times(&self) -> Vec<f64> {
        let observed = self
            .time
            .observed
            .map(|time| (time.us, Some(time.range_us)));
        let expected = self.time.us.map(|us| (us, self.time.tolerance_us));
        let time = observed.or(expected);
        time.map(|(us, spread)| earlier_values(self.runs, us, spread))
            .unwrap_or_default()
    }

    /// What stands for their ratios; `None` where they were too far apart to be recorded.
    fn ratios(&self) -> Option<Vec<f64>> {
        Some(earlier_values(
            self.runs,
            self.time.ratio?,
            self.time.ratio_tolerance,
        ))
    }
}

/// The tolerance around the middle of these values, at least `least`, to this many decimals; `None` where it would be larger than
/// `largest`.
fn tolerance(values: &[f64], least: f64, largest: f64, decimals: i32) -> Option<f64> {
    let floor = floor(values.len()) * middle(values).abs();
    let tolerance = floor.max(least).max(range(values));
    (tolerance <= largest).then(|| rounded_up(tolerance, decimals))
}

/// What stands for earlier runs, of which an entry has the middle and the tolerance or the range: the middle, as often as there were
/// runs, and, where that is known, two values as far apart as the runs were. A tolerance that is not above the floor does not tell it.
fn earlier_values(runs: u32, value: f64, spread: Option<f64>) -> Vec<f64> {
    let runs = runs as usize;
    let floor = floor(runs) * value.abs() * 1.01;
    let mut values = vec![value; runs];
    if let Some(spread) = spread.filter(|spread| *spread > floor) {
        values.extend([value - spread / 2.0, value + spread / 2.0]);
    }
    values
}

/// What was found of this claim in each run that makes it.
fn measured_claim(
    runs: &[&PartResults],
    claim: &Claim,
    earlier: Option<&ExpectedPart>,
) -> ExpectedClaim {
    let in_run = |run: &&PartResults| {
        let same = |other: &&Claim| {
            other.id == claim.id && other.figure.map(|f| f.unit) == claim.figure.map(|f| f.unit)
        };
        let figure = judged(run).find(same)?.figure?;
        Some(figure.value)
    };
    let mut values: Vec<f64> = runs.iter().filter_map(in_run).collect();
    let unit = claim.figure.map(|figure| figure.unit);
    let same = |other: &&ExpectedClaim| other.id == claim.id && other.unit == unit;
    let recorded =
        earlier.and_then(|earlier| Some((earlier.runs, earlier.claims.iter().find(same)?)));
    // Numbers that earlier runs recorded as too far apart remain marked.
    let was_dropped = recorded.is_some_and(|(_, recorded)| recorded.value.is_none());
    if let Some((runs, recorded)) = recorded
        && let Some(value) = recorded.value
    {
        values.extend(match unit {
            // A share's floor is in points, and its tolerance alone tells no spread.
            Some(Unit::Share) if recorded.tolerance.is_none_or(|most| most <= SHARE + 1e-3) => {
                vec![value; runs as usize]
            }
            _ => earlier_values(runs, value, recorded.tolerance),
        });
    }
    let value = middle(&values);
    let tolerance = unit.filter(|_| !was_dropped).and_then(|unit| {
        let (least, largest) = match unit {
            Unit::Share => (floor(values.len()).max(SHARE), LARGEST),
            Unit::Ratio => (0.0, LARGEST * value.abs()),
            Unit::Microseconds => (RESOLUTION_US, LARGEST * value.abs()),
        };
        tolerance(&values, least, largest, 4)
    });
    ExpectedClaim {
        id: claim.id.clone(),
        found: None,
        value: tolerance.map(|_| rounded(value, 4)),
        unit,
        tolerance,
    }
}

/// The middle value, or the mean of the middle two; 0 without values.
fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match (sorted.get(half.wrapping_sub(1)), sorted.get(half)) {
        (Some(below), Some(above)) if sorted.len().is_multiple_of(2) => (below + above) / 2.0,
        (_, Some(middle)) => *middle,
        _ => 0.0,
    }
}

/// From the least to the greatest: twice what any of them can be off the point half-way.
fn range(values: &[f64]) -> f64 {
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (greatest - least).max(0.0)
}

fn rounded(value: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    (value * scale).round() / scale
}

/// One more than needed, because the value beside it is rounded too.
fn rounded_up(value: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    ((value * scale).ceil() + 1.0) / scale
}

/// A hash of the operations, their times and what waited for what. Phases of the host and what a checker says of them in
/// words are not in it.
fn timeline_hash(recording: &Recording) -> String {
    let intervals = recording.intervals.iter().flat_map(|interval| {
        let (start, end) = (interval.span.start, interval.span.end);
        [
            interval.engine.to_string(),
            interval.name.clone(),
            interval.stream.clone(),
            format!("{start} {end} {}", interval.bytes),
        ]
    });
    let dependencies = recording.dependencies.iter();
    let dependencies = dependencies.map(|known| format!("{} {}", known.from, known.to));
    hash(intervals.chain(dependencies))
}

/// The first 8 bytes of the texts' SHA-256, in hexadecimal.
fn hash(texts: impl Iterator<Item = String>) -> String {
    let mut hash = Hash::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    let digest = hash.finalize();
    let bytes = digest.iter().take(8);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}
