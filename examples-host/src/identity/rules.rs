//! The rules that variants of a comparison keep.

use super::shape::Counts;
use super::{CallCounts, Differ};
use crate::label::Label;
use crate::units;
use std::time::Duration;

/// A variant, and what it did.
pub(crate) struct Judged<'a> {
    /// The variant.
    pub(crate) name: &'a Label,
    /// The names of the streams that it has to use.
    pub(crate) required: Vec<String>,
    /// The differences of this variant alone, beyond those of all variants.
    pub(crate) also: &'a [Differ],
    /// How often it says that it waits for the device.
    pub(crate) waits: usize,
    /// What it did.
    pub(crate) shape: &'a CallCounts,
}

impl<'a> Judged<'a> {
    /// A variant of which nothing is known but what it did.
    pub(crate) fn by_calls((name, shape): &'a (Label, CallCounts)) -> Self {
        Self {
            name,
            required: Vec::new(),
            also: &[],
            waits: 0,
            shape,
        }
    }
}

/// A rule that variants have broken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The rule's id.
    pub(crate) rule: &'static str,
    /// What should hold.
    pub(crate) sentence: &'static str,
    /// Who broke it, and how.
    pub(crate) found: String,
    /// What would keep it.
    pub(crate) remedy: String,
}

/// The rules that these variants have broken. `declared` is what they say they differ in; without it, no two may be the same
/// program.
pub(crate) fn broken(declared: Option<&[Differ]>, variants: &[Judged]) -> Vec<Broken> {
    let mut found = Vec::from_iter(same_program(declared.unwrap_or_default(), variants));
    if let Some(declared) = declared {
        found.extend(undeclared(declared, variants));
        found.extend(no_difference(declared, variants));
        found.extend(waits(variants));
        found.extend(unused_stream(variants));
    }
    found
}

/// What twins may differ in: all but the work, since they differ in how it is ordered.
const ORDER: [Differ; 8] = [
    Differ::Streams,
    Differ::Events,
    Differ::Waits,
    Differ::Graphs,
    Differ::Calls,
    Differ::Threads,
    Differ::HostWork,
    Differ::Order,
];

/// The rule that two programs have broken that are to do the same work in different orders, or with other buffers.
pub(crate) fn broken_by_twins(twins: &[Judged; 2]) -> Option<Broken> {
    undeclared(&ORDER, twins)
}

fn same_program(declared: &[Differ], variants: &[Judged]) -> Option<Broken> {
    let differ_in_data = |of: &[Differ]| of.contains(&Differ::Data);
    if differ_in_data(declared) {
        return None;
    }
    let same = |one: &Judged, other: &Judged| {
        if differ_in_data(one.also) || differ_in_data(other.also) {
            return false;
        }
        let (one, other) = (one.shape, other.shape);
        let kernels = [one, other].map(|shape| shape.counts(Differ::Kernels));
        // Without records the launches of two graphs cannot be distinguished.
        let told = kernels[0].is_some() || !one.launches_graphs();
        told && one.sequences == other.sequences && kernels[0] == kernels[1]
    };
    let (one, other) = pairs(variants).find(|(one, other)| same(one, other))?;
    let calls = one.shape.calls();
    Some(Broken {
        rule: "same-program",
        sentence: "no two variants are the same program",
        found: format!(
            "{} and {} make the same {calls} calls",
            one.name, other.name
        ),
        remedy: "other calls, or variants that differ in Data".to_owned(),
    })
}

fn undeclared(declared: &[Differ], variants: &[Judged]) -> Option<Broken> {
    let (differ, found) = pairs(variants).find_map(|(one, other)| {
        let allowed = [declared, one.also, other.also].concat();
        let mut found = differences(one, other).into_iter();
        found.find(|(differ, _)| !allowed.contains(differ))
    })?;
    Some(Broken {
        rule: "undeclared",
        sentence: "variants differ in nothing else than they declare",
        found,
        remedy: format!("no difference, or variants that differ in {differ}"),
    })
}

fn no_difference(declared: &[Differ], variants: &[Judged]) -> Option<Broken> {
    let of_all = declared.iter().map(|differ| (differ, None));
    let of_one = variants
        .iter()
        .flat_map(|one| one.also.iter().map(move |differ| (differ, Some(one))));
    let alike = |&(differ, one): &(&Differ, Option<&Judged>)| {
        let is_of = |a: &Judged, b: &Judged| {
            one.is_none_or(|one| std::ptr::eq(one, a) || std::ptr::eq(one, b))
        };
        let mut found = pairs(variants)
            .filter(|(a, b)| is_of(a, b))
            .map(|(a, b)| differ_in(*differ, a, b));
        is_seen(*differ, variants) && !found.any(|differ| differ)
    };
    let (differ, one) = of_all.chain(of_one).find(alike)?;
    let found = match one {
        None => format!("all are alike in {differ}"),
        Some(one) => format!("{} is like the others in {differ}", one.name),
    };
    Some(Broken {
        rule: "no-difference",
        sentence: "variants differ in all that they declare",
        found,
        remedy: "a difference".to_owned(),
    })
}

/// Whether calls and records show a difference of this kind: not of data; kernels are not always recorded, and the host's work is a
/// time.
fn is_seen(differ: Differ, variants: &[Judged]) -> bool {
    let records_kernels = |one: &Judged| one.shape.counts(Differ::Kernels).is_some();
    match differ {
        Differ::Data | Differ::HostWork => false,
        Differ::Kernels => variants.iter().all(records_kernels),
        _ => true,
    }
}

/// Whether two variants differ in this. The order of their calls may differ together with anything else.
fn differ_in(differ: Differ, one: &Judged, other: &Judged) -> bool {
    match differ {
        Differ::Order => one.shape.sequences != other.shape.sequences,
        _ => differences(one, other)
            .iter()
            .any(|(found, _)| *found == differ),
    }
}

/// What two variants differ in, each with words for it.
fn differences(one: &Judged, other: &Judged) -> Vec<(Differ, String)> {
    let mut found = Vec::new();
    for differ in Differ::COUNTED {
        let graphs = one.shape.launches_graphs() || other.shape.launches_graphs();
        if differ == Differ::Launches && graphs {
            continue;
        }
        let counts = [one, other].map(|variant| variant.shape.counts(differ));
        if let [Some(of_one), Some(of_other)] = counts
            && let Some((what, [n, m])) = first_difference(&of_one, &of_other)
        {
            let (one, other) = (one.name, other.name);
            found.push((
                differ,
                format!("{differ}: {one} has {what} {n} times, {other} {m} times"),
            ));
        }
    }
    if let Some(words) = host_work(one, other) {
        found.push((Differ::HostWork, words));
    }
    if found.is_empty() && one.shape.sequences != other.shape.sequences {
        let words = format!(
            "{} and {} make the same calls in different orders",
            one.name, other.name
        );
        found.push((Differ::Order, words));
    }
    found
}

fn first_difference(one: &Counts, other: &Counts) -> Option<(String, [usize; 2])> {
    let numbers = |what: &String| [one, other].map(|of| of.get(what).copied().unwrap_or(0));
    let mut all = one
        .keys()
        .chain(other.keys())
        .map(|what| (what, numbers(what)));
    all.find(|(_, [n, m])| n != m)
        .map(|(what, numbers)| (what.clone(), numbers))
}

/// What the host may work longer in one variant than in another …
const HOST_WORK: Duration = Duration::from_micros(200);
/// … and for each call, since the observer takes notes.
const PER_CALL: Duration = Duration::from_micros(5);

fn host_work(one: &Judged, other: &Judged) -> Option<String> {
    let (of_one, of_other) = one.shape.outside.zip(other.shape.outside)?;
    let calls = one.shape.calls().max(other.shape.calls());
    let limit = HOST_WORK + PER_CALL * u32::try_from(calls).unwrap_or(u32::MAX);
    (of_one.abs_diff(of_other) > limit).then(|| {
        let [one_time, other_time] = [of_one, of_other].map(units::time);
        format!(
            "HostWork: {} has {one_time} of it, {} {other_time}",
            one.name, other.name
        )
    })
}

fn waits(variants: &[Judged]) -> Option<Broken> {
    let (found, declared) = variants.iter().find_map(
        |Judged {
             name, waits, shape, ..
         }| {
            let counts = shape.counts(Differ::Waits).unwrap_or_default();
            let done: usize = counts.values().sum();
            (done != *waits).then(|| (format!("{name} waits {done} times"), waits))
        },
    )?;
    Some(Broken {
        rule: "waits",
        sentence: "each variant waits for the device as often as it says",
        found,
        remedy: format!("{declared} times"),
    })
}

fn unused_stream(variants: &[Judged]) -> Option<Broken> {
    let found = variants.iter().find_map(
        |Judged {
             name,
             required,
             shape,
             ..
         }| {
            let unused = required
                .iter()
                .find(|stream| !shape.streams.contains(*stream))?;
            Some(format!("{name} makes no call for its stream {unused}"))
        },
    )?;
    Some(Broken {
        rule: "unused-stream",
        sentence: "each variant uses all streams that it names",
        found,
        remedy: "a call for each".to_owned(),
    })
}

/// Each pair of variants.
fn pairs<'v, 'a>(
    variants: &'v [Judged<'a>],
) -> impl Iterator<Item = (&'v Judged<'a>, &'v Judged<'a>)> {
    let others = |(index, one)| variants[index + 1..].iter().map(move |other| (one, other));
    variants.iter().enumerate().flat_map(others)
}
