//! Latencies: of single calls, of the allocator's calls in a loop, of requests that are served one after the other.
//!
//! All are times on the host's clock. Variants take turns, as in a comparison, and a table shows half of the times, all but
//! one in a hundred, and the slowest: no mean, which a few slow calls hide in.

use crate::by_size::BySize;
use crate::call_times::{self, CallTimes};
use crate::check::{self, Checked};
use crate::compare::{Variant, Workload, variant};
use crate::device::TimeSource;
use crate::expect::{Measured, ratio, right, truth};
use crate::host_clock;
use crate::label::Label;
use crate::part::Part;
use crate::plan::{EqualWork, Plan};
use crate::results::Kind;
use crate::statistics::Durations;
use crate::table::Table;
use crate::tally;
use crate::units;
use anyhow::Context;
use cust::stream::Stream;
use std::array;
use std::time::Duration;

/// How a distribution is shown: p50, p99 and max.
pub fn cells(times: &Durations) -> [String; 3] {
    [times.percentile(50), times.percentile(99), times.max()].map(units::time)
}

/// How many times as long as another time one is.
pub fn times_as_long(time: Duration, other: Duration) -> Measured {
    ratio(time.as_secs_f64() / other.as_secs_f64())
}

/// A variant that is timed by the host's clock: its label, and what does the work to its end.
pub fn timed_by_host<'v, S>(
    label: impl Into<Label>,
    body: impl FnMut(&mut S) -> anyhow::Result<()> + 'v,
) -> Variant<'v, S> {
    variant(label, NO_STREAMS, body)
}

const NO_STREAMS: [&Stream; 0] = [];

/// What a loop took in all its runs, and the allocator's calls in it.
#[derive(Clone, Debug)]
pub struct LoopTimes {
    /// Each run, from before its first step to after its last wait.
    pub runs: Durations,
    /// The calls that allocate, if there were any.
    pub allocate: Option<Durations>,
    /// The calls that free, if there were any.
    pub free: Option<Durations>,
}

impl LoopTimes {
    /// The time by which this loop is slower than the fastest of `all`, as a share of itself.
    pub fn beyond_quickest(&self, all: &[Self]) -> f64 {
        let medians = all.iter().map(|one| one.runs.median());
        let quickest = medians.min().unwrap_or_default();
        1.0 - quickest.as_secs_f64() / self.runs.median().as_secs_f64()
    }
}

impl Part<'_> {
    /// Rounds that are not timed: where times are measured, one warms up.
    pub fn warm_up(&self) -> usize {
        usize::from(self.device().times() == TimeSource::Measured)
    }

    /// Times single executions of each variant, `repeats` of them in a row, at each size, and prints their distributions
    /// under `title`. The host waits for the device between variants; what they are joined to is not looked at.
    ///
    /// # Errors
    /// What the variants return, or the driver.
    pub fn single_calls<'v, const N: usize>(
        &mut self,
        group: impl Into<Label>,
        title: &str,
        repeats: usize,
        sizes: &[usize],
        mut variants: impl FnMut(usize) -> anyhow::Result<[Variant<'v, ()>; N]>,
    ) -> anyhow::Result<BySize<[Durations; N]>> {
        let group = group.into();
        let mut table = Table::new([title, "p50", "p99", "max", "of the first"]);
        let mut all = Vec::new();
        for &bytes in sizes {
            let mut variants = variants(bytes)?;
            let mut times = [const { Vec::new() }; N];
            for round in 0..self.warm_up() + self.iterations(5) {
                for (variant, times) in variants.iter_mut().zip(&mut times) {
                    for _ in 0..repeats {
                        let begin = host_clock::now();
                        (variant.body)(&mut ())?;
                        if round >= self.warm_up() {
                            times.push(host_clock::now() - begin);
                        }
                    }
                    self.device().synchronize()?;
                }
            }
            let found = distributions(times)?;
            let size = units::bytes(bytes as u64);
            for (variant, times) in variants.iter().zip(&found) {
                let of_first = times.median().as_secs_f64() / found[0].median().as_secs_f64();
                let name = [format!("{size}, {}", variant.label)].into_iter();
                if shown(sizes, bytes) || self.options().verbose {
                    table.row(name.chain(cells(times)).chain([units::percent(of_first)]));
                }
                self.timed(at_size(&group, bytes), &variant.label, Kind::Other, times);
            }
            all.push((bytes, found));
        }
        self.say(table);
        Ok(BySize::new(all))
    }

    /// Times loops of this many steps at each size, and prints the distributions of the allocator's calls in them. The last
    /// column is what a loop takes longer than the quickest at its size, as a share. Claims that all loops do the planned
    /// work, that every element is right after every run, and that each loop waits for the device as often as its variant says.
    ///
    /// # Errors
    /// What the work or a variant returns, or the driver.
    pub fn loops<'v, S: Workload, const N: usize>(
        &mut self,
        group: impl Into<Label>,
        (plan, steps): (Plan, usize),
        sizes: &[usize],
        work: &mut S,
        mut variants: impl FnMut(usize) -> anyhow::Result<[Variant<'v, S>; N]>,
    ) -> anyhow::Result<BySize<[LoopTimes; N]>> {
        let group = group.into();
        let mut table = Table::new([
            &group.text,
            "alloc p50",
            "p99",
            "free p50",
            "a step",
            "allocator",
        ]);
        let (mut equal, mut checked) = (EqualWork::new(plan), Ok(Checked::default()));
        let (mut all, mut miscounted) = (Vec::new(), None);
        for &bytes in sizes {
            let mut variants = variants(bytes)?;
            let mut runs = [const { Vec::new() }; N];
            let mut calls: [CallTimes; N] = array::from_fn(|_| CallTimes::default());
            for round in 0..self.warm_up() + self.iterations(10) {
                for (index, variant) in variants.iter_mut().enumerate() {
                    work.poison()?;
                    let (before, begin) = (tally::enqueued(), host_clock::now());
                    let ((), mut times) = call_times::timed(|| (variant.body)(work))?;
                    let time = host_clock::now() - begin;
                    equal.add(&variant.label.text, tally::enqueued() - before);
                    check::add(&mut checked, work.check())?;
                    if times.waits != variant.waits {
                        let found = format!("{} waits {} times", variant.label, times.waits);
                        miscounted = Some((found, format!("{} times", variant.waits)));
                    }
                    if round >= self.warm_up() {
                        runs[index].push(time);
                        calls[index].append(&mut times);
                    }
                }
            }
            let mut runs = distributions(runs)?.into_iter();
            let found = calls.map(|calls| {
                Some(LoopTimes {
                    runs: runs.next()?,
                    allocate: Durations::new(calls.allocate),
                    free: Durations::new(calls.free),
                })
            });
            let found: Vec<LoopTimes> = found.into_iter().flatten().collect();
            for (variant, one) in variants.iter().zip(&found) {
                let name = format!("{}, {}", units::bytes(bytes as u64), variant.label);
                let calls = match (&one.allocate, &one.free) {
                    (Some(allocate), Some(free)) => [
                        units::time(allocate.median()),
                        units::time(allocate.percentile(99)),
                        units::time(free.median()),
                    ],
                    _ => ["-"; 3].map(str::to_owned),
                };
                let step = units::time(one.runs.median() / steps as u32);
                let share = units::percent(one.beyond_quickest(&found));
                if shown(sizes, bytes) || self.options().verbose {
                    let name = [name].into_iter();
                    table.row(name.chain(calls).chain([step, share]));
                }
                let group = at_size(&group, bytes);
                self.timed(group, &variant.label, Kind::Other, &one.runs);
            }
            let found = <[LoopTimes; N]>::try_from(found)
                .ok()
                .context("a loop was not timed")?;
            all.push((bytes, found));
        }
        self.say(table);
        if let Some((found, limit)) = miscounted {
            let id = format!("{}/identity/waits", group.id);
            let sentence = "each loop waits for the device as often as it says";
            self.claim(id, sentence, false, found, limit);
        }
        let heading = &group.text;
        self.expect(
            format!("{}/equal-work", group.id),
            &format!("{heading}: all loops do the same work"),
            truth(equal.holds(), &equal, "as planned"),
        );
        self.expect(
            format!("{}/elements", group.id),
            &format!("{heading}: every element is right"),
            right(&checked, "elements"),
        );
        Ok(BySize::new(all))
    }
}

/// Whether a size is printed without `--verbose`: the smallest, and the one in the middle.
fn shown(sizes: &[usize], bytes: usize) -> bool {
    [sizes.first(), sizes.get(sizes.len() / 2)].contains(&Some(&bytes))
}

/// The group of what is timed at one size.
fn at_size(group: &Label, bytes: usize) -> Label {
    let bytes = bytes as u64;
    Label::new(
        format!("{}/{}", group.id, units::bytes_id(bytes)),
        format!("{}, {}", group.text, units::bytes(bytes)),
    )
}

fn distributions<const N: usize>(times: [Vec<Duration>; N]) -> anyhow::Result<[Durations; N]> {
    let times = times.map(Durations::new);
    let times: Option<Vec<Durations>> = times.into_iter().collect();
    times
        .and_then(|times| times.try_into().ok())
        .context("a variant was not timed")
}
