//! Where the host was while the device was idle: in which call, or outside of the driver.

use crate::analysis::cause::Cause;
use crate::analysis::facts::{Facts, TimedHostCall};
use crate::analysis::host::HostWaits;
use chapter_results::intervals::{Engine, Recording, Span, intersection, total, union};
use std::collections::BTreeMap;

/// The longest time from the return of a call until the device begins the operation.
const ON_ITS_WAY: i64 = 10_000;
/// A launch that takes longer does more than to launch, such as loading the kernel's code.
const SLOW_LAUNCH: i64 = 50_000;

/// A part of a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) cause: Cause,
    /// Where the host was, as it follows "the host was".
    pub(super) place: String,
    pub(super) nanoseconds: u64,
}

/// The calls of each thread of the host.
pub(super) struct WhereHost<'a> {
    /// In order of their starts, without calls within calls.
    threads: BTreeMap<u64, Vec<&'a TimedHostCall>>,
    /// When host functions ran.
    functions: Vec<Span>,
}

impl<'a> WhereHost<'a> {
    pub(super) fn of(recording: &Recording, facts: &'a Facts) -> Self {
        let mut threads: BTreeMap<u64, Vec<&TimedHostCall>> = BTreeMap::new();
        for call in &facts.calls {
            threads.entry(call.thread).or_default().push(call);
        }
        for calls in threads.values_mut() {
            calls.sort_by_key(|call| (call.start, std::cmp::Reverse(call.end)));
            let mut last = i64::MIN;
            calls.retain(|call| {
                let is_outermost = call.start >= last;
                last = last.max(call.end);
                is_outermost
            });
        }
        let functions = recording.spans(|interval| interval.engine == Engine::HostFunction);
        Self {
            threads,
            functions: union(functions),
        }
    }

    /// How the gap before an operation that this call asked for is divided by where the calling thread was, those of the largest
    /// cause first. Nothing, when the call had returned in time: a little earlier, if the thread launches without a pause.
    pub(super) fn shares(
        &self,
        gap: Span,
        call: &TimedHostCall,
        waits: &HostWaits<'_>,
    ) -> Vec<Share> {
        let (start, end) = (gap.start.cast_signed(), gap.end.cast_signed());
        if call.end.saturating_add(ON_ITS_WAY) <= start {
            return Vec::new();
        }
        let calls = self
            .threads
            .get(&call.thread)
            .map_or(&[][..], Vec::as_slice);
        let why = self.before(calls, call, start);
        if call.end <= start && !matches!(why, Some(Before::Launches)) {
            return Vec::new();
        }
        let mut shares = Shares::default();
        let mut at = start;
        let first = calls.partition_point(|other| other.end <= start);
        let drained = drained_by(&calls[first..], start, waits);
        for other in calls[first..]
            .iter()
            .take_while(|other| other.start < end.min(call.end))
        {
            shares.add(
                Cause::HostLate,
                "outside the driver",
                other.start.min(end) - at,
            );
            at = at.max(other.start);
            let until = other.end.min(end);
            if other.start != call.start {
                match drained.filter(|_| cause_of(other, waits) == Cause::Launches) {
                    Some(wait) => {
                        shares.add(cause_of(wait, waits), &behind(other, wait), until - at)
                    }
                    None => self.add_call(&mut shares, other, waits, at, until),
                }
            } else if until - at >= SLOW_LAUNCH {
                shares.add(
                    cause_of(other, waits),
                    &format!("in {}", other.name),
                    until - at,
                );
            } else {
                break;
            }
            at = at.max(until);
        }
        // What the operation's own call takes, and the way to the device, are there in any case. They show when the host
        // was not ahead.
        let rest = end - at;
        let (cause, place) = match why {
            Some(Before::Launches) => match drained {
                Some(wait) => (cause_of(wait, waits), behind(call, wait)),
                None => (Cause::Launches, format!("in {}", call.name)),
            },
            Some(Before::Call(other)) => (cause_of(other, waits), behind(call, other)),
            Some(Before::Itself) => (cause_of(call, waits), format!("in {}", call.name)),
            None => (Cause::HostLate, format!("in {}, called late", call.name)),
        };
        shares.add(cause, &place, rest);
        shares.sorted()
    }

    fn add_call(
        &self,
        shares: &mut Shares,
        call: &TimedHostCall,
        waits: &HostWaits<'_>,
        from: i64,
        to: i64,
    ) {
        let cause = cause_of(call, waits);
        let mut nanoseconds = to - from;
        if cause == Cause::HostWaited && nanoseconds > 0 {
            let [start, end] = [from, to].map(i64::cast_unsigned);
            let functions = intersection(self.functions.iter().copied(), [Span { start, end }]);
            let functions = i64::try_from(total(&functions).as_nanos()).unwrap_or(0);
            let place = format!("in {}, for a host function,", call.name);
            shares.add(Cause::HostFunction, &place, functions);
            nanoseconds -= functions;
        }
        shares.add(cause, &format!("in {}", call.name), nanoseconds);
    }

    /// Why the operation's own call was not made earlier.
    fn before(
        &self,
        calls: &[&'a TimedHostCall],
        call: &TimedHostCall,
        start: i64,
    ) -> Option<Before<'a>> {
        if call.end - call.start.max(start) >= SLOW_LAUNCH {
            return Some(Before::Itself);
        }
        let own = calls.partition_point(|other| other.start < call.start);
        let previous = calls[own.checked_sub(1)?];
        if !enqueues(&previous.name) || previous.end - previous.start >= SLOW_LAUNCH {
            return Some(Before::Call(previous)).filter(|_| previous.end >= start);
        }
        // Launch behind launch: the host works at its own pace.
        let between = call.start - previous.end;
        let within = call.end - call.start + previous.end - previous.start;
        (between <= within).then_some(Before::Launches)
    }
}

/// Why a call was not made earlier.
enum Before<'a> {
    /// The thread launches one operation after the other.
    Launches,
    /// It was in this call.
    Call(&'a TimedHostCall),
    /// It was: the call itself takes long.
    Itself,
}

/// The call in which the thread waited when the device ran out of work at `start`: `calls` are those that end later. The launches
/// behind it are late because of the wait, however long each takes.
fn drained_by<'a>(
    calls: &[&'a TimedHostCall],
    start: i64,
    waits: &HostWaits<'_>,
) -> Option<&'a TimedHostCall> {
    let call = calls.first().filter(|call| call.start < start)?;
    let waited = [Cause::HostWaited, Cause::PageableCopy].contains(&cause_of(call, waits));
    waited.then_some(call)
}

fn behind(call: &TimedHostCall, earlier: &TimedHostCall) -> String {
    format!("in {} behind {}", call.name, earlier.name)
}

/// What is behind the time in a call.
fn cause_of(call: &TimedHostCall, waits: &HostWaits<'_>) -> Cause {
    if waits.is_pageable(call) {
        return Cause::PageableCopy;
    }
    let name = bare(&call.name);
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["Synchronize"]) || ["MemFree", "Free", "FreeHost", "MemFreeHost"].contains(&name) {
        Cause::HostWaited
    } else if has(&["Alloc", "Register", "Malloc", "MemPool", "AddressReserve"]) {
        Cause::Allocation
    } else if has(&[
        "ModuleLoad",
        "LibraryLoad",
        "GetFunction",
        "GetKernel",
        "ModuleGet",
        "Link",
    ]) || name.starts_with("GraphInstantiate")
    {
        Cause::Loading
    } else if name.contains("Memcpy") && !name.contains("Async") {
        Cause::HostWaited
    } else if enqueues(&call.name) && call.end - call.start >= SLOW_LAUNCH {
        Cause::SlowLaunch
    } else if enqueues(&call.name) {
        Cause::Launches
    } else {
        Cause::OtherCalls
    }
}

/// Whether a call gives the device something to do and returns.
fn enqueues(name: &str) -> bool {
    let name = bare(name);
    let asynchronous = name.contains("Async") && !name.contains("Alloc") && !name.contains("Free");
    name.contains("Launch")
        || asynchronous
        || name.starts_with("EventRecord")
        || name.contains("WaitEvent")
}

fn bare(name: &str) -> &str {
    let without = name
        .strip_prefix("cuda")
        .or_else(|| name.strip_prefix("cu"));
    without.unwrap_or(name)
}

#[derive(Default)]
struct Shares(BTreeMap<(Cause, String), u64>);

impl Shares {
    fn add(&mut self, cause: Cause, place: &str, nanoseconds: i64) {
        if let Ok(more @ 1..) = u64::try_from(nanoseconds) {
            *self.0.entry((cause, place.to_owned())).or_default() += more;
        }
    }

    /// The calls of the largest cause come first, and within a cause the longest.
    fn sorted(self) -> Vec<Share> {
        let mut whole: BTreeMap<Cause, u64> = BTreeMap::new();
        for ((cause, _), nanoseconds) in &self.0 {
            *whole.entry(*cause).or_default() += nanoseconds;
        }
        let shares = self
            .0
            .into_iter()
            .map(|((cause, place), nanoseconds)| Share {
                cause,
                place,
                nanoseconds,
            });
        let mut shares: Vec<Share> = shares.collect();
        shares.sort_by_key(|share| {
            let of_cause = whole[&share.cause];
            std::cmp::Reverse((of_cause, share.cause, share.nanoseconds))
        });
        shares
    }
}
