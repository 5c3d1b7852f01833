//! The edge that is missing, or the one too many: which operation has to wait for which, or waits for nothing.

use crate::catalogue::Check;
use chapter_results::intervals::{Engine, Recording};
use chapter_results::lab::LabRecord;
use chapter_results::units;
use chapter_timeline::analysis::{self, cause::Cause, facts::Facts};
use std::collections::BTreeSet;

/// Sentences about the order in a run, in view of the checks that it did not pass.
pub fn edges(
    record: &LabRecord,
    own: &Recording,
    goal: Option<&Recording>,
    missed: &[&Check],
) -> Vec<String> {
    let mut sentences = missing(record);
    let about_time = missed
        .iter()
        .any(|check| matches!(check, Check::Overlap { .. } | Check::Within { .. }));
    if sentences.is_empty() && about_time {
        sentences.extend(too_many(own, goal));
    }
    sentences
}

/// What the checkers' reports ask for.
fn missing(record: &LabRecord) -> Vec<String> {
    let lines = record.reports.iter().flat_map(|report| report.lines());
    let missing = lines.filter_map(|line| line.trim().strip_prefix("missing:"));
    let each: BTreeSet<String> = missing
        .map(|edge| format!("missing edge: {}", edge.trim()))
        .collect();
    each.into_iter().take(3).collect()
}

/// An operation's engine and stream.
type Of<'a> = (Engine, &'a str);

/// Who waits for whom through events, by engine and stream.
fn hand_overs(recording: &Recording) -> BTreeSet<(Of<'_>, Of<'_>)> {
    let of = |place: usize| {
        let interval = &recording.intervals[place];
        (interval.engine, interval.stream.as_str())
    };
    recording
        .dependencies
        .iter()
        .map(|edge| (of(edge.from), of(edge.to)))
        .collect()
}

/// What ran one after the other although it need not: the order that costs most, and why it came about.
fn too_many(own: &Recording, goal: Option<&Recording>) -> Vec<String> {
    let found = analysis::analyse(own, &Facts::of(own));
    let wanted = goal.map(hand_overs).unwrap_or_default();
    let needless = found.serialised.iter().filter(|group| {
        let of = |place: usize| {
            let interval = &own.intervals[place];
            (interval.engine, interval.stream.as_str())
        };
        !group.likely.cause.is_wanted()
            || !wanted.contains(&(of(group.worst.first), of(group.worst.second)))
    });
    let mut sentences: Vec<String> = needless
        .take(2)
        .map(|group| {
            let [first, second] = [group.worst.first, group.worst.second].map(|place| &own.intervals[place]);
            let why = if group.likely.evidence.is_empty() { group.likely.cause.to_string() } else { group.likely.evidence.clone() };
            format!(
                "edge too many: {} in `{}` began only when {} in `{}` had ended ({} such pairs, {} at stake): {why}",
                second.name, second.stream, first.name, first.stream, group.pairs, units::time(group.at_stake)
            )
        })
        .collect();
    let mut idle = found.idle_by_cause().into_iter();
    if let Some((cause, time, gaps)) =
        idle.find(|(cause, ..)| !cause.is_wanted() && *cause != Cause::Unknown)
    {
        let place = found
            .idle_causes
            .iter()
            .find(|likely| likely.cause == cause);
        let evidence = place
            .map(|likely| likely.evidence.as_str())
            .unwrap_or_default();
        let why = if evidence.is_empty() {
            cause.to_string()
        } else {
            evidence.to_owned()
        };
        sentences.push(format!(
            "idle device: {} in {}: {why}",
            units::time(time),
            units::counted(gaps, "gap")
        ));
    }
    let wants_more = goal.is_none_or(|goal| goal.streams().len() > 1);
    if sentences.is_empty() && own.streams().len() == 1 && wants_more {
        sentences.push(format!(
            "edge too many: all operations are in `{}`, whose order keeps them apart",
            own.streams()[0]
        ));
    }
    sentences
}
