//! Expectations of a device's runs: recorded once, and compared with every later run.
//!
//! `expectations/DEVICE/TARGET.json` holds, for each part, a hash of its work, its plans, the time of everything that it times (of
//! makespans and copies the least, which other programs on the host disturb least, of other times the median), each variant's ratio to the first of its group, and the figures of its claims, with the tolerances that several recorded runs
//! give. DEVICE names the device, its link, its clocks and the driver's branch; the whole fingerprint is in the file.
//!
//! - Claims, groups and variants are known by their ids: another sentence changes nothing, another id is another thing.
//!   The numbers in the sentence of a modelled claim are compared.
//! - A model's times are expected to the nanosecond, and so are the hashes of its timelines: a difference in either
//!   direction is a regression. When other parts ran before, in the same process, they need to be within 1 %.
//! - A measured figure is a regression when it is worse than its tolerance allows. An improvement is reported.
//! - An entry is outdated when the work or the device has changed: it is reported and not compared. When nothing could be
//!   compared, the check fails.
//! - A run with a profiler, or with options that change its work, is neither recorded nor judged.

mod form;
mod judge;
mod lines;
mod outcome;
mod record;
mod recorded;
mod update;

pub use outcome::{Judgement, RunComparison};
#[cfg(test)]
pub use recorded::RecordedTime;
pub use recorded::{Recorded, RecordedPart, recorded};
pub use update::{Earlier, update};

use chapter_results::Results;
use chapter_results::device::{Fingerprint, TimeSource};
use chapter_results::part::PartResults;
use chapter_results::results::Request;
use chapter_terminal::UsageError;
use form::{Expectations, ExpectedPart};
use outcome::TargetOutcome;
use std::path::Path;

/// Compares runs with the expectations in a folder.
///
/// # Errors
/// When there are expectations that cannot be read.
pub fn check(runs: &[Results], folder: &Path) -> Result<RunComparison, UsageError> {
    let targets = runs.iter().map(|run| check_one(run, folder));
    Ok(RunComparison {
        targets: targets.collect::<Result<_, _>>()?,
    })
}

fn check_one(run: &Results, folder: &Path) -> Result<TargetOutcome, UsageError> {
    let file = form::path(folder, &run.device, &run.example);
    let expected = Expectations::read(&file, &run.example)?;
    let mut outcome = TargetOutcome {
        target: run.example.clone(),
        device: run.device.clone(),
        file,
        note: None,
        parts: Vec::new(),
        did_not_run: Vec::new(),
    };
    let all = |judgement: Judgement| {
        let names = run.parts.iter().map(|part| part.name.clone());
        names.map(|name| (name, judgement.clone())).collect()
    };
    let Some(expected) = expected else {
        let file = outcome.file.display();
        outcome.parts = all(Judgement::NotJudged(format!(
            "no expectations recorded for this target on this device ({file})"
        )));
        return Ok(outcome);
    };
    let ran = |name: &str| run.parts.iter().any(|part| part.name == name);
    let names = expected.parts.iter().map(|part| part.name.clone());
    outcome.did_not_run = names.filter(|name| !ran(name)).collect();
    if let Some(why) = unfit(run) {
        outcome.parts = all(Judgement::NotJudged(why.to_owned()));
        return Ok(outcome);
    }
    match other_device(&expected.device, &run.device) {
        Some(why) => outcome.parts = all(Judgement::Void(why)),
        None => {
            outcome.note = other_driver(&expected.device, &run.device);
            for part in &run.parts {
                let after = record::after(&run.parts, &part.name);
                let (judgement, note) = judgement(run.times, &expected, part, &after);
                outcome.parts.push((part.name.clone(), judgement));
                outcome.note = outcome.note.or(note);
            }
        }
    }
    Ok(outcome)
}

/// The judgement of a part, and a note on the comparison.
fn judgement(
    times: TimeSource,
    expected: &Expectations,
    part: &PartResults,
    after: &str,
) -> (Judgement, Option<String>) {
    let Some(entry) = expected.part(&part.name) else {
        let why = "no expectations recorded for this part".to_owned();
        return (Judgement::NotJudged(why), None);
    };
    if entry.workload != part.workload {
        let (found, recorded) = (&part.workload, &entry.workload);
        let why = format!(
            "the part does other work than recorded{} (hash {found}, recorded {recorded})",
            other_work(entry, part)
        );
        return (Judgement::Void(why), None);
    }
    match (times, entry.after.as_deref() == Some(after)) {
        (TimeSource::Measured, _) => (judge::part(times, false, entry, part), None),
        (TimeSource::Modelled, true) => (judge::part(times, true, entry, part), None),
        (TimeSource::Modelled, false) => {
            let note =
                "other parts ran before than when recorded: compared within 1 %, without timelines";
            let entry = record::loosened(entry);
            (
                judge::part(times, false, &entry, part),
                Some(note.to_owned()),
            )
        }
    }
}

/// How the work differs: the first variant or plan that only one of the two has.
fn other_work(entry: &ExpectedPart, part: &PartResults) -> String {
    let recorded = entry.times.iter();
    let recorded = recorded.map(|time| (&*time.group, &*time.variant));
    let found = part.timed.iter();
    let found = found.map(|timed| (&*timed.group.id, &*timed.variant.id));
    let named = |(group, variant)| format!("variant {variant} of group {group}");
    let gone = recorded
        .clone()
        .find(|time| found.clone().all(|other| other != *time));
    let new = found
        .clone()
        .find(|timed| recorded.clone().all(|other| other != *timed));
    let plan = part.plans.iter().find(|plan| !entry.plans.contains(plan));
    match (gone, new, plan) {
        (Some(gone), ..) => format!(": {} is missing", named(gone)),
        (_, Some(new), _) => format!(": {} is new", named(new)),
        (_, _, Some(plan)) => format!(": group {} has another plan", plan.group),
        _ => String::new(),
    }
}

/// Why a run is neither recorded nor judged; `None` for one that is.
fn unfit(run: &Results) -> Option<&'static str> {
    let Request {
        size,
        chunks,
        streams,
        rounds,
        iterations,
        profiled,
        gpu_sizes,
    } = run.request;
    let other_work =
        gpu_sizes || size.is_some() || chunks.is_some() || streams.is_some() || rounds.is_some();
    if !run.reports.is_empty() {
        Some("the checkers found errors")
    } else if profiled {
        Some("a profiler was attached")
    } else if other_work {
        Some("the run used options that change its work")
    } else if iterations.is_some() && run.are_modelled() {
        Some("the run used another number of iterations, and modelled times are compared exactly")
    } else {
        None
    }
}

/// Why times of the two devices cannot be compared; `None` if they can.
fn other_device(recorded: &Fingerprint, found: &Fingerprint) -> Option<String> {
    let none = || "none".to_owned();
    let figures = |device: &Fingerprint| {
        [
            ("name", device.name.clone()),
            ("link", device.link.clone().unwrap_or_else(none)),
            ("clock rate in MHz", device.clock_mhz.to_string()),
            (
                "memory's clock rate in MHz",
                device.memory_clock_mhz.to_string(),
            ),
            (
                "number of multiprocessors",
                device.multiprocessors.to_string(),
            ),
            ("profile", device.profile.clone().unwrap_or_else(none)),
        ]
    };
    figures(recorded)
        .into_iter()
        .zip(figures(found))
        .find(|(recorded, found)| recorded != found)
        .map(|((what, recorded), (_, found))| {
            format!("recorded on another device ({what}: {found}, recorded {recorded})")
        })
}

/// A note that the driver differs from the recorded one. Times are compared all the same.
fn other_driver(recorded: &Fingerprint, found: &Fingerprint) -> Option<String> {
    let version = |device: &Fingerprint| format!("{}, CUDA {}", device.driver, device.cuda);
    let (recorded, found) = (version(recorded), version(found));
    (recorded != found).then(|| format!("recorded with driver {recorded}; this is {found}"))
}

#[cfg(test)]
mod tests;
