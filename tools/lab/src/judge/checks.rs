//! Each check.

use super::priority::ends_early;
use super::structure::{all_freed, allocations, asked, host_waits, structure, unawaited};
use super::{CheckedRun, Mark, ended_well};
use crate::answers;
use crate::attempt::LabDevice;
use crate::catalogue::{Check, Criterion, Lab, Yardstick};
use crate::goal::{DeviceWork, bound, counted};
use chapter_results::intervals::{Engine, Recording, Source};
use chapter_results::units;
use std::collections::BTreeSet;
use std::time::Duration;

/// Judges a run by a criterion: by its first check that does not hold.
pub(super) fn mark(case: &CheckedRun, criterion: &Criterion) -> Mark {
    let first = checked(case, &criterion.check);
    if !first.is_met() {
        return first;
    }
    // A GPU's recording need not have every call: a call that is required besides is judged on the software GPU alone.
    let judged = |check: &&Check| {
        case.device == LabDevice::Software || !matches!(check, Check::Calls { .. })
    };
    let others = criterion.also.iter().filter(judged);
    let mut others = others.map(|check| checked(case, check));
    others.find(|mark| !mark.is_met()).unwrap_or(first)
}

fn checked(case: &CheckedRun, check: &Check) -> Mark {
    match check {
        Check::Compiles => Mark::Met(String::new()),
        Check::Right => right(case),
        Check::Unreported => unreported(case),
        Check::EqualWork => equal_work(case),
        Check::Overlap {
            of,
            with,
            at_least,
            nvidia,
        } => overlap(case.counted, (*of, *with), limit(case, *at_least, *nvidia)),
        Check::Within { times, nvidia, of } => match (case.device, nvidia) {
            (LabDevice::Software, _) => within(case, *times, *of),
            (LabDevice::Nvidia, Some(times)) => within(case, *times, *of),
            (LabDevice::Nvidia, None) => not_judged_here(),
        },
        Check::Calls {
            names,
            at_least,
            at_most,
        } => if_calls_are_known(case, || calls(case, names, *at_least, *at_most)),
        Check::HostWaits {
            at_least,
            at_most,
            but,
        } => if_calls_are_known(case, || host_waits(case, *at_least, *at_most, but)),
        Check::Allocations { at_once } => if_calls_are_known(case, || allocations(case, *at_once)),
        Check::AllFreed => all_freed(case),
        Check::Structure => structure(case),
        Check::CopiesReturnEarly { engine } => if_calls_are_known(case, || {
            copies_return_early(&case.record.recording, *engine)
        }),
        Check::Streams { engine, at_least } => streams(case.counted, *engine, *at_least),
        Check::TimeOfKernel {
            name,
            kernel,
            tolerance,
        } => time_of_kernel(case, name, kernel, *tolerance),
        Check::EndsEarly {
            kernel,
            beside,
            share,
        } => ends_early(&case.record.recording, kernel, beside, *share),
        Check::Kernels {
            required,
            forbidden,
        } => kernels(case, required, forbidden),
        Check::Answer { .. } => Mark::Missed("the lab has no program".to_owned()),
    }
}

fn limit(case: &CheckedRun, modelled: f64, nvidia: f64) -> f64 {
    match case.device {
        LabDevice::Software => modelled,
        LabDevice::Nvidia => nvidia,
    }
}

pub(super) fn met(is_met: bool, found: String) -> Mark {
    if is_met {
        Mark::Met(found)
    } else {
        Mark::Missed(found)
    }
}

fn right(case: &CheckedRun) -> Mark {
    let Some(result) = &case.record.result else {
        return Mark::Missed(format!(
            "the program {} and handed in nothing",
            case.run.ended
        ));
    };
    if result.elements != result.expected {
        return Mark::Missed(format!(
            "{} elements were handed in, not {}",
            result.elements, result.expected
        ));
    }
    if let Some((place, expected, got)) = &result.first {
        let (wrong, all) = (result.wrong, result.elements);
        return Mark::Missed(format!(
            "{wrong} of {all} elements are wrong; the first is element {place}: {got} instead of {expected}"
        ));
    }
    if !ended_well(case.run) {
        return Mark::Missed(format!(
            "the result is right, but then the program {}",
            case.run.ended
        ));
    }
    Mark::Met(format!("all {} elements", result.elements))
}

fn unreported(case: &CheckedRun) -> Mark {
    if case.device == LabDevice::Nvidia {
        return Mark::NotJudged("a GPU checks no ordering: run it on the software GPU".to_owned());
    }
    match &case.record.reports[..] {
        [] => match unawaited(&case.record.recording) {
            Some(late) => Mark::Missed(format!(
                "no call of the host waits for the last copy out, which ends {} later",
                units::time(Duration::from_nanos(late))
            )),
            None => Mark::Met("no report".to_owned()),
        },
        [one] => Mark::Missed(first_line(one)),
        [one, rest @ ..] => Mark::Missed(format!("{}; and {} more", first_line(one), rest.len())),
    }
}

fn first_line(report: &str) -> String {
    report.lines().next().unwrap_or_default().to_owned()
}

fn equal_work(case: &CheckedRun) -> Mark {
    let Some(goal) = case.goal else {
        return Mark::NotJudged("the lab has no goal".to_owned());
    };
    match DeviceWork::of(case.record).difference(&goal.work) {
        Some(difference) => Mark::Missed(difference),
        None => Mark::Met("as much as the goal".to_owned()),
    }
}

fn overlap(recording: &Recording, (of, with): (Engine, Engine), at_least: f64) -> Mark {
    let share = if of == with {
        recording.overlapped_share(of)
    } else {
        share_on_own_gpu(recording, of, with)
    };
    let found = if of == with {
        format!(
            "another {of} runs during {} of {of} time ({} required)",
            units::percent(share),
            units::percent(at_least)
        )
    } else {
        format!(
            "{with} overlaps {} of {of} time ({} required)",
            units::percent(share),
            units::percent(at_least)
        )
    };
    met(share >= at_least, found)
}

fn not_judged_here() -> Mark {
    Mark::NotJudged(
        "here the speed of the host decides, not the program: run it on the software GPU"
            .to_owned(),
    )
}

/// The share of the time of `of` during which its own GPU's `with` is busy, over all GPUs.
fn share_on_own_gpu(recording: &Recording, of: Engine, with: Engine) -> f64 {
    let on =
        |engine| move |device| recording.spans(|own| own.device == device && own.engine == engine);
    recording.share_on_own_device(on(of), on(with))
}

fn within(case: &CheckedRun, times: f64, of: Yardstick) -> Mark {
    let own = counted(case.lab, &case.timed().recording).makespan();
    // A GPU has its own times: its own busiest engine says what is possible there, and the goal how much more a lab takes.
    let (yardstick, what) = match (case.device, of, case.goal) {
        (LabDevice::Software, Yardstick::Goal, Some(goal)) => {
            (counted(case.lab, &goal.recording).makespan(), "the goal")
        }
        (LabDevice::Software, Yardstick::Bound, Some(goal)) => {
            (bound(&counted(case.lab, &goal.recording)), "the bound")
        }
        (_, Yardstick::Goal, Some(goal)) => {
            let goal = counted(case.lab, &goal.recording);
            let shape = goal.makespan().div_duration_f64(bound(&goal));
            (
                bound(case.counted).mul_f64(shape),
                "a run of the goal's shape",
            )
        }
        _ => (bound(case.counted), "the busiest engine's time"),
    };
    let limit = Duration::from_secs_f64(yardstick.as_secs_f64() * times);
    let reached = own.as_secs_f64() / yardstick.as_secs_f64().max(1e-9);
    let found = format!(
        "{}{} = {} of {what} ({}); at most {} allowed",
        units::time(own),
        of_runs(case),
        units::ratio(reached),
        units::time(yardstick),
        units::ratio(times)
    );
    met(own <= limit, found)
}

/// Timing events say when operations ran, and nothing of the host's calls.
fn if_calls_are_known(case: &CheckedRun, judge: impl FnOnce() -> Mark) -> Mark {
    match &case.record.recording.source {
        Source::Events(why) => Mark::NotJudged(format!(
            "the host's calls are not recorded ({why}): run it on the software GPU"
        )),
        _ => judge(),
    }
}

/// Which run a time is of, where there were several.
fn of_runs(case: &CheckedRun) -> String {
    match case.run.without_cupti.len() {
        0 => String::new(),
        more => format!(" in the shortest of {} runs", more + 1),
    }
}

fn calls(case: &CheckedRun, names: &[String], at_least: u64, at_most: u64) -> Mark {
    let calls = case.record.recording.calls.iter();
    let count = calls.filter(|call| names.contains(&call.name)).count() as u64;
    let what = match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        names => names.concat(),
    };
    let found = format!(
        "{} of {what}, {}",
        units::counted(count, "call"),
        asked(at_least, at_most)
    );
    met((at_least..=at_most).contains(&count), found)
}

/// Whether the host continued while the copies of an engine ran.
fn copies_return_early(recording: &Recording, engine: Engine) -> Mark {
    let copies = recording.calls.iter().filter_map(|call| {
        let interval = &recording.intervals[call.interval?];
        (interval.engine == engine && interval.bytes >= 64 << 10).then_some((call, interval))
    });
    let copies: Vec<_> = copies.collect();
    let late = copies.iter().filter(|(call, _)| recording.is_held(call));
    match (copies.len(), late.count()) {
        (0, _) => Mark::Missed(format!("no {engine} copy")),
        (1, 0) => Mark::Met("the call returns before its copy ends".to_owned()),
        (1, _) => Mark::Missed(format!(
            "the call for the {engine} copy returns only when the copy is over"
        )),
        (all, 0) => Mark::Met(format!("all {all} calls return before their copies end")),
        (all, late) => Mark::Missed(format!(
            "{late} of {all} calls for {engine} copies return only when the copy is over"
        )),
    }
}

fn streams(recording: &Recording, engine: Engine, at_least: usize) -> Mark {
    let of_engine = recording
        .intervals
        .iter()
        .filter(|interval| interval.engine == engine);
    let streams: BTreeSet<&str> = of_engine.map(|interval| interval.stream.as_str()).collect();
    let found = format!(
        "{} with {engine} operations, at least {at_least} required",
        units::counted(streams.len(), "stream")
    );
    met(streams.len() >= at_least, found)
}

fn time_of_kernel(case: &CheckedRun, name: &str, kernel: &str, tolerance: f64) -> Mark {
    let record = case.timed();
    let handed_in = record.times_handed_in.iter().find(|(own, _)| own == name);
    let Some((_, own)) = handed_in else {
        return Mark::Missed(format!("no time named {name} was handed in"));
    };
    let true_time: u64 = {
        let intervals = record.recording.intervals.iter();
        let of_kernel = intervals.filter(|interval| interval.name == kernel);
        of_kernel.map(|interval| interval.span.nanoseconds()).sum()
    };
    let [own_text, true_text] =
        [*own, true_time as f64].map(|ns| units::time(Duration::from_nanos(ns.max(0.0) as u64)));
    let found = format!("{own_text} handed in, and the kernel took {true_text}");
    // The launch itself lies between the events, too.
    let allowed = true_time as f64 * tolerance + 8_000.0;
    met((own - true_time as f64).abs() <= allowed, found)
}

fn kernels(case: &CheckedRun, required: &[String], forbidden: &[String]) -> Mark {
    let work = DeviceWork::of(case.record);
    let ran = |kernel: &&String| work.launches.contains_key(*kernel);
    let absent: Vec<&str> = required
        .iter()
        .filter(|kernel| !ran(kernel))
        .map(String::as_str)
        .collect();
    let present: Vec<&str> = forbidden.iter().filter(ran).map(String::as_str).collect();
    match (&absent[..], &present[..]) {
        ([], []) => Mark::Met(required.join(", ")),
        ([], present) => Mark::Missed(format!("{} ran", present.join(" and "))),
        (absent, _) => Mark::Missed(format!("{} did not run", absent.join(" and "))),
    }
}

/// Judges the answer to a question.
pub(super) fn answer(lab: &Lab, criterion: &Criterion, given: &[Option<String>]) -> Mark {
    let Check::Answer { question } = criterion.check else {
        return Mark::Missed("the lab has no program".to_owned());
    };
    match given.get(question - 1).and_then(Option::as_ref) {
        None => Mark::Missed(format!("no answer to question {question}")),
        Some(answer) => met(
            answers::digest(&lab.name, question, answer) == lab.answers[question - 1],
            format!("`{answer}`"),
        ),
    }
}
