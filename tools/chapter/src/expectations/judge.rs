//! A run against what is expected of it.

use super::form::{ExpectedClaim, ExpectedPart, ExpectedTime};
use super::outcome::{Change, Difference, Judgement};
use super::record;
use chapter_results::device::TimeSource;
use chapter_results::part::{Claim, Kind, PartResults, Timed, Unit};
use chapter_results::units;
use std::time::Duration;

/// Judges a part that did the recorded work: `exactly`, or else within the entry's tolerances.
pub fn part(
    times: TimeSource,
    exactly: bool,
    expected: &ExpectedPart,
    found: &PartResults,
) -> Judgement {
    let mut figures = Figures::default();
    for expected in &expected.times {
        time(&mut figures, times, expected, found);
    }
    for expected in &expected.claims {
        match found.claims.iter().find(|claim| claim.id == expected.id) {
            Some(claim) if !claim.judged => {}
            Some(claim) => judge_claim(&mut figures, expected, claim),
            None => figures.changed(&format!("claim {}", expected.id), "not claimed", "claimed"),
        }
    }
    if exactly {
        timelines(&mut figures, expected, found);
        claims_that_are_new(&mut figures, expected, found);
    }
    Judgement::Compared {
        figures: figures.compared,
        observed: expected
            .times
            .iter()
            .filter(|time| time.observed.is_some())
            .count(),
        differences: figures.differences,
    }
}

/// The compared results.
#[derive(Default)]
struct Figures {
    compared: usize,
    differences: Vec<Difference>,
}

impl Figures {
    /// Notes a figure, and a difference if there is a change.
    fn add(&mut self, change: Option<Change>, difference: impl FnOnce(Change) -> Difference) {
        self.compared += 1;
        self.differences.extend(change.map(difference));
    }

    fn changed(&mut self, figure: &str, found: &str, expected: &str) {
        self.add(Some(Change::Regression), |change| Difference {
            change,
            figure: figure.to_owned(),
            found: found.to_owned(),
            expected: expected.to_owned(),
            tolerance: "exactly".to_owned(),
        });
    }
}

/// The direction in which a figure gets worse.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Worse {
    Higher,
    Lower,
}

impl Worse {
    /// How a figure changed. Without a tolerance it must be the same, up to the last digits
    /// of a quotient.
    fn change(self, found: f64, expected: f64, tolerance: Option<f64>) -> Option<Change> {
        let off = found - expected;
        match tolerance {
            None if off.abs() <= 1e-9 * expected.abs() => None,
            None => Some(Change::Regression),
            Some(tolerance) if off.abs() <= tolerance => None,
            Some(_) if (off > 0.0) == (self == Self::Higher) => Some(Change::Regression),
            Some(_) => Some(Change::Better),
        }
    }
}

fn time(figures: &mut Figures, times: TimeSource, expected: &ExpectedTime, part: &PartResults) {
    let ExpectedTime { group, variant, .. } = expected;
    let Some(timed) = record::timed(part, group, variant) else {
        return figures.changed(&format!("{group}, {variant}"), "not timed", "timed");
    };
    let figure = named(timed);
    if timed.unclaimed != expected.unclaimed {
        let [found, expected] = [timed.unclaimed, expected.unclaimed].map(claimed);
        figures.changed(&figure, found, expected);
    }
    let us = timed.compared_us();
    if let Some(expected_us) = expected.us {
        let change = Worse::Higher.change(us, expected_us, expected.tolerance_us);
        figures.add(change, |change| Difference {
            change,
            figure: figure.clone(),
            found: time_in_words(us, times),
            expected: time_in_words(expected_us, times),
            tolerance: tolerance(expected.tolerance_us, |us| time_in_words(us, times)),
        });
    }
    let Some((expected_ratio, found)) = expected.ratio.zip(record::ratio(part, timed)) else {
        return;
    };
    let change = Worse::Lower.change(found, expected_ratio, expected.ratio_tolerance);
    figures.add(change, |change| Difference {
        change,
        figure: format!("{figure}, ratio to the group's first variant"),
        found: units::ratio(found),
        expected: units::ratio(expected_ratio),
        tolerance: tolerance(expected.ratio_tolerance, units::ratio),
    });
}

fn claimed(unclaimed: bool) -> &'static str {
    match unclaimed {
        true => "not claimed of the model",
        false => "claimed",
    }
}

fn judge_claim(figures: &mut Figures, expected: &ExpectedClaim, claim: &Claim) {
    let figure = format!("claim {}, \"{}\"", claim.id, claim.sentence);
    let broken = (!claim.holds).then_some(Change::Regression);
    figures.add(broken, |change| Difference {
        change,
        figure: figure.clone(),
        found: claim.found.clone(),
        expected: "to hold".to_owned(),
        tolerance: claim.limit.clone(),
    });
    if let Some(words) = &expected.found {
        let same = numbers(words).eq(numbers(&claim.found));
        let change = (!same).then_some(Change::Regression);
        figures.add(change, |change| Difference {
            change,
            figure: figure.clone(),
            found: claim.found.clone(),
            expected: words.clone(),
            tolerance: "exactly".to_owned(),
        });
    }
    let Some(value) = expected.value else {
        return;
    };
    let found = claim
        .figure
        .filter(|found| Some(found.unit) == expected.unit);
    let Some(found) = found else {
        return figures.changed(&figure, "a figure of another unit", "the recorded unit");
    };
    let worse = if claim.limit.starts_with("at least") {
        Worse::Lower
    } else {
        Worse::Higher
    };
    let exact = expected.tolerance.is_none();
    let words = |value| figure_in_words(value, found.unit, exact);
    let change = worse.change(found.value, value, expected.tolerance);
    figures.add(change, |change| Difference {
        change,
        figure,
        found: words(found.value),
        expected: words(value),
        tolerance: tolerance(expected.tolerance, words),
    });
}

/// The numbers in what was found: the words around them may change.
fn numbers(found: &str) -> impl Iterator<Item = &str> {
    let words = found.split(|c: char| !c.is_ascii_digit() && c != '.');
    words
        .map(|word| word.trim_matches('.'))
        .filter(|word| !word.is_empty())
}

fn timelines(figures: &mut Figures, expected: &ExpectedPart, found: &PartResults) {
    let found = record::modelled(found).timelines;
    for (place, timeline) in expected.timelines.iter().enumerate() {
        let figure = format!("timeline of {}", timeline.variant);
        match found.get(place) {
            Some(found) if found.variant == timeline.variant => {
                let differs = found.hash != timeline.hash;
                let change = differs.then_some(Change::Regression);
                figures.add(change, |change| Difference {
                    change,
                    figure,
                    found: format!("hash {}", found.hash),
                    expected: timeline.hash.clone(),
                    tolerance: "the same operations at the same times".to_owned(),
                });
            }
            _ => figures.changed(&figure, "none", "one"),
        }
    }
    for timeline in found.iter().skip(expected.timelines.len()) {
        figures.changed(&format!("timeline of {}", timeline.variant), "one", "none");
    }
}

fn claims_that_are_new(figures: &mut Figures, expected: &ExpectedPart, found: &PartResults) {
    for claim in record::judged(found) {
        if expected.claims.iter().all(|other| other.id != claim.id) {
            let figure = format!("claim {}, \"{}\"", claim.id, claim.sentence);
            figures.changed(&figure, "claimed", "not claimed");
        }
    }
}

/// A timed variant in words.
fn named(timed: &Timed) -> String {
    let Timed { group, variant, .. } = timed;
    let kind = match timed.kind {
        Kind::Makespan => "makespan",
        Kind::Copy => "copy",
        Kind::Other => "time",
    };
    format!("{group}, {variant}, {kind}")
}

fn tolerance(tolerance: Option<f64>, words: impl Fn(f64) -> String) -> String {
    tolerance.map_or_else(
        || "exactly".to_owned(),
        |tolerance| format!("± {}", words(tolerance)),
    )
}

/// Three digits; modelled times to the nanosecond, so that a difference can be seen.
fn time_in_words(us: f64, times: TimeSource) -> String {
    match times {
        TimeSource::Modelled => format!("{us:.3} µs"),
        TimeSource::Measured => {
            units::time(Duration::from_nanos((us * 1e3).round().max(0.0) as u64))
        }
    }
}

fn figure_in_words(value: f64, unit: Unit, exact: bool) -> String {
    match unit {
        Unit::Microseconds if exact => time_in_words(value, TimeSource::Modelled),
        Unit::Microseconds => time_in_words(value, TimeSource::Measured),
        _ if exact => format!("{value}"),
        Unit::Share => units::percent(value),
        Unit::Ratio => units::ratio(value),
    }
}
