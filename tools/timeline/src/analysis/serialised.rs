//! Operations that ran one after the other and might have run together.

use chapter_results::intervals::{Dependency, Engine, Interval, Recording};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long after the end of one operation another that had waited for it starts, at most: a hand-over takes a few
/// microseconds on a GPU.
pub const HAND_OVER: Duration = Duration::from_micros(5);

/// Two operations of different streams and engines, or two kernels, of which the second began when the first ended although
/// neither its stream nor its engine held it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerialisedPair {
    /// What ended: a place in [`Recording::intervals`].
    pub first: usize,
    /// What began then.
    pub second: usize,
    /// How long the two could have run together at most, had the second begun as soon as its stream and its engine were free.
    pub at_stake: Duration,
}

/// Whether an engine runs one operation at a time.
fn is_exclusive(engine: Engine) -> bool {
    engine != Engine::Kernel
}

/// The pairs, in order of the second's start. `hand_over` is the longest time between the end of the one and the start of the
/// other; with less at stake than that, two operations are no pair: in a busy trace, something has always just ended.
/// `called` is the time in nanoseconds at which the host enqueued an operation, if known: it could not begin earlier.
pub fn pairs(
    recording: &Recording,
    hand_over: Duration,
    called: impl Fn(usize) -> Option<i64>,
) -> Vec<SerialisedPair> {
    let ends = Ends::of(recording);
    let dependencies: BTreeSet<Dependency> = recording.dependencies.iter().copied().collect();
    let reach = u64::try_from(hand_over.as_nanos()).unwrap_or(u64::MAX);
    let all = recording.intervals.iter().enumerate();
    all.filter(|(_, second)| second.span.start < second.span.end)
        .filter_map(|(place, second)| {
            let free = ends.free(second);
            let earliest = second.span.start.saturating_sub(reach);
            let waited_for = ends
                .between(earliest, second.span.start)
                .filter(|&first| may_run_together(&recording.intervals[first], second))
                .max_by_key(|&first| {
                    let known = dependencies.contains(&Dependency {
                        from: first,
                        to: place,
                    });
                    (
                        recording.intervals[first].span.end,
                        known,
                        std::cmp::Reverse(first),
                    )
                })?;
            let first = recording.intervals[waited_for].span;
            // A call that came too late is a cause, and no excuse.
            let asked = called(place).and_then(|time| u64::try_from(time).ok());
            let asked = asked.filter(|&time| time < first.end).unwrap_or(0);
            let together = first.end.checked_sub(first.start.max(free).max(asked))?;
            let pair = SerialisedPair {
                first: waited_for,
                second: place,
                at_stake: Duration::from_nanos(together.min(second.span.nanoseconds())),
            };
            (first.end > free && pair.at_stake >= hand_over).then_some(pair)
        })
        .collect()
}

/// Whether nothing in their streams or engines keeps two operations apart.
fn may_run_together(a: &Interval, b: &Interval) -> bool {
    a.stream != b.stream && (a.engine != b.engine || !is_exclusive(a.engine))
}

/// When operations ended: all, and those of each stream and of each engine.
struct Ends<'a> {
    all: Vec<(u64, usize)>,
    streams: BTreeMap<&'a str, Vec<u64>>,
    engines: BTreeMap<Engine, Vec<u64>>,
}

impl<'a> Ends<'a> {
    fn of(recording: &'a Recording) -> Self {
        let mut ends = Self {
            all: Vec::new(),
            streams: BTreeMap::new(),
            engines: BTreeMap::new(),
        };
        for (place, interval) in recording.intervals.iter().enumerate() {
            let end = interval.span.end;
            if interval.span.start < end {
                ends.all.push((end, place));
                let stream = ends.streams.entry(&interval.stream).or_default();
                stream.push(end);
                ends.engines.entry(interval.engine).or_default().push(end);
            }
        }
        ends.all.sort_unstable();
        let each = ends.streams.values_mut().chain(ends.engines.values_mut());
        each.for_each(|ends| ends.sort_unstable());
        ends
    }

    /// The operations that ended within these times.
    fn between(&self, first: u64, last: u64) -> impl Iterator<Item = usize> + '_ {
        let from = self.all.partition_point(|&(end, _)| end < first);
        let to = self.all.partition_point(|&(end, _)| end <= last);
        self.all[from..to].iter().map(|&(_, place)| place)
    }

    /// When the stream of an operation, and its engine if that runs one at a time, were done with what ended before it.
    fn free(&self, operation: &Interval) -> u64 {
        let start = operation.span.start;
        let last = |ends: Option<&Vec<u64>>| {
            let ends = ends.map_or(&[][..], Vec::as_slice);
            let before = ends.partition_point(|&end| end <= start);
            before.checked_sub(1).map_or(0, |place| ends[place])
        };
        let stream = last(self.streams.get(operation.stream.as_str()));
        if is_exclusive(operation.engine) {
            stream.max(last(self.engines.get(&operation.engine)))
        } else {
            stream
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{operation, recording, recordings};
    use proptest::prelude::*;

    const REACH: Duration = Duration::from_nanos(5);

    #[test]
    fn kernels_of_two_streams_that_touch_are_a_pair() {
        let recording = recording([
            operation(Engine::Kernel, "a", 0, 10),
            operation(Engine::Kernel, "b", 12, 30),
            operation(Engine::Kernel, "c", 36, 40),
        ]);
        let pair = SerialisedPair {
            first: 0,
            second: 1,
            at_stake: Duration::from_nanos(10),
        };
        assert_eq!(pairs(&recording, REACH, |_| None), [pair], "36 is too late");
        assert!(pairs(&recording, Duration::from_nanos(1), |_| None).is_empty());
    }

    #[test]
    fn order_within_a_stream_and_a_busy_engine_are_no_riddle() {
        let one_stream = recording([
            operation(Engine::HostToDevice, "a", 0, 10),
            operation(Engine::Kernel, "a", 10, 20),
        ]);
        assert!(pairs(&one_stream, REACH, |_| None).is_empty());
        let one_engine = recording([
            operation(Engine::HostToDevice, "a", 0, 10),
            operation(Engine::Kernel, "c", 0, 10),
            operation(Engine::HostToDevice, "b", 10, 20),
        ]);
        assert!(pairs(&one_engine, REACH, |_| None).is_empty());
        let own_stream_later = recording([
            operation(Engine::HostToDevice, "a", 0, 10),
            operation(Engine::Kernel, "b", 0, 11),
            operation(Engine::Kernel, "b", 11, 20),
        ]);
        assert!(pairs(&own_stream_later, REACH, |_| None).is_empty());
    }

    #[test]
    fn what_the_own_stream_took_is_not_at_stake() {
        let recording = recording([
            operation(Engine::Kernel, "a", 0, 100),
            operation(Engine::HostToDevice, "b", 0, 70),
            operation(Engine::Kernel, "b", 100, 200),
        ]);
        let found = pairs(&recording, REACH, |_| None);
        assert_eq!(found[0].at_stake, Duration::from_nanos(30));
    }

    #[test]
    fn what_the_host_had_not_asked_for_yet_is_not_at_stake() {
        let recording = recording([
            operation(Engine::Kernel, "a", 0, 100),
            operation(Engine::Kernel, "b", 100, 200),
        ]);
        let at_stake = |called| {
            let found = pairs(&recording, REACH, |_| Some(called));
            found.first().map(|pair| pair.at_stake)
        };
        let nanoseconds = |time| Some(Duration::from_nanos(time));
        assert_eq!(at_stake(-20), nanoseconds(100));
        assert_eq!(at_stake(80), nanoseconds(20));
        assert_eq!(at_stake(96), None, "it began as soon as it could");
        assert_eq!(at_stake(101), nanoseconds(100), "the host came late");
    }

    proptest! {
        #[test]
        fn each_pair_touches_and_was_held_up_by_nothing_else(recording in recordings()) {
            let found = pairs(&recording, REACH, |_| None);
            let all = &recording.intervals;
            for (place, second) in all.iter().enumerate() {
                let start = second.span.start;
                let long = |i: &&Interval| i.span.start < i.span.end;
                let own = all.iter().filter(long).filter(|i| i.span.end <= start)
                    .filter(|i| i.stream == second.stream || (i.engine == second.engine && i.engine != Engine::Kernel));
                let free = own.map(|i| i.span.end).max().unwrap_or(0);
                let touching = all.iter().enumerate().filter(|(_, i)| long(i) && may_run_together(i, second))
                    .filter(|(_, i)| i.span.end <= start && start - i.span.end <= 5);
                let first = touching.max_by_key(|(at, i)| (i.span.end, std::cmp::Reverse(*at)));
                let expected = first.filter(|_| long(&second)).and_then(|(at, first)| {
                    let runs = |time: &u64| first.span.start <= *time && *time < first.span.end;
                    let together = (free..400).filter(runs).count() as u64;
                    let at_stake = together.min(second.span.nanoseconds());
                    let pair = SerialisedPair { first: at, second: place, at_stake: Duration::from_nanos(at_stake) };
                    (first.span.end > free && at_stake >= 5).then_some(pair)
                });
                let pair = found.iter().find(|pair| pair.second == place).copied();
                prop_assert_eq!(pair, expected);
            }
        }
    }
}
