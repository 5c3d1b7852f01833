//! Stretches in which nothing ran.

use chapter_results::intervals::{Engine, Recording, Span, total, union};
use std::time::Duration;

/// A stretch in which the device, or one engine of it, ran nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The engine; `None` for the whole device.
    pub engine: Option<Engine>,
    /// When.
    pub span: Span,
    /// What ended last before: a place in [`Recording::intervals`].
    pub before: usize,
    /// What began first after it.
    pub after: usize,
}

/// The gaps of the device or of one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gaps {
    /// The engine; `None` for the whole device.
    pub engine: Option<Engine>,
    /// All of them together.
    pub total: Duration,
    /// Each, the longest first.
    pub longest: Vec<Gap>,
}

/// The stretches between the first start and the last end in which no operation of the device ran. Host functions occupy the
/// host: while nothing else runs, the device is idle.
pub fn of_device(recording: &Recording) -> Gaps {
    within(recording, None)
}

/// The stretches between an engine's first start and its last end in which it ran nothing.
pub fn of_engine(recording: &Recording, engine: Engine) -> Gaps {
    within(recording, Some(engine))
}

fn within(recording: &Recording, engine: Option<Engine>) -> Gaps {
    let counts = |of: Engine| match engine {
        Some(engine) => of == engine,
        None => of != Engine::HostFunction,
    };
    let busy = union(recording.spans(|interval| counts(interval.engine)));
    let edges = Edges::of(recording, counts);
    let mut longest: Vec<Gap> = busy
        .windows(2)
        .filter_map(|pair| {
            let (start, end) = (pair[0].end, pair[1].start);
            Some(Gap {
                engine,
                span: Span { start, end },
                before: edges.ending_at(start)?,
                after: edges.starting_at(end)?,
            })
        })
        .collect();
    let spans: Vec<Span> = longest.iter().map(|gap| gap.span).collect();
    longest.sort_by_key(|gap| (std::cmp::Reverse(gap.span.nanoseconds()), gap.span.start));
    Gaps {
        engine,
        total: total(&spans),
        longest,
    }
}

/// Operations by the time of their start and of their end.
struct Edges {
    starts: Vec<(u64, usize)>,
    ends: Vec<(u64, usize)>,
}

impl Edges {
    fn of(recording: &Recording, counts: impl Fn(Engine) -> bool) -> Self {
        let places = || {
            let all = recording.intervals.iter().enumerate();
            all.filter(|(_, interval)| {
                counts(interval.engine) && interval.span.start < interval.span.end
            })
        };
        let mut starts: Vec<_> = places().map(|(at, i)| (i.span.start, at)).collect();
        let mut ends: Vec<_> = places().map(|(at, i)| (i.span.end, at)).collect();
        starts.sort_unstable();
        ends.sort_unstable();
        Self { starts, ends }
    }

    fn starting_at(&self, time: u64) -> Option<usize> {
        find(&self.starts, time)
    }

    fn ending_at(&self, time: u64) -> Option<usize> {
        find(&self.ends, time)
    }
}

/// The first place of those at that time.
fn find(sorted: &[(u64, usize)], time: u64) -> Option<usize> {
    let first = sorted.partition_point(|&(at, _)| at < time);
    sorted
        .get(first)
        .filter(|&&(at, _)| at == time)
        .map(|&(_, place)| place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{operation, recording, recordings};
    use proptest::prelude::*;

    #[test]
    fn a_gap_says_what_was_before_it_and_what_came_after() {
        let recording = recording([
            operation(Engine::HostToDevice, "a", 0, 10),
            operation(Engine::Kernel, "a", 12, 20),
            operation(Engine::HostFunction, "a", 20, 90),
            operation(Engine::Kernel, "a", 90, 100),
            operation(Engine::Kernel, "b", 95, 99),
        ]);
        let gaps = of_device(&recording);
        assert_eq!(gaps.total, Duration::from_nanos(72));
        let [long, short] = &gaps.longest[..] else {
            panic!("{gaps:?}")
        };
        assert_eq!(long.span, Span { start: 20, end: 90 });
        assert_eq!((long.before, long.after), (1, 3));
        assert_eq!((short.before, short.after), (0, 1));
        assert_eq!(of_engine(&recording, Engine::Kernel).longest.len(), 1);
        assert!(
            of_engine(&recording, Engine::HostToDevice)
                .longest
                .is_empty()
        );
    }

    proptest! {
        #[test]
        fn each_gap_is_idle_and_all_idle_time_is_a_gap(recording in recordings()) {
            for engine in [None].into_iter().chain(Engine::ALL.map(Some)) {
                let gaps = within(&recording, engine);
                let runs = |interval: &chapter_results::intervals::Interval| match engine {
                    Some(engine) => interval.engine == engine,
                    None => interval.engine != Engine::HostFunction,
                };
                let running = |time| {
                    let mut open = recording.intervals.iter().filter(|interval| runs(interval));
                    open.any(|interval| interval.span.start <= time && time < interval.span.end)
                };
                let own: Vec<Span> = recording.spans(|i| runs(i) && i.span.start < i.span.end);
                let first = own.iter().map(|span| span.start).min().unwrap_or(0);
                let last = own.iter().map(|span| span.end).max().unwrap_or(0);
                for time in 0..400 {
                    let in_gap = gaps.longest.iter().any(|gap| gap.span.start <= time && time < gap.span.end);
                    prop_assert_eq!(in_gap, (first..last).contains(&time) && !running(time));
                }
                for gap in &gaps.longest {
                    prop_assert_eq!(recording.intervals[gap.before].span.end, gap.span.start);
                    prop_assert_eq!(recording.intervals[gap.after].span.start, gap.span.end);
                }
            }
        }
    }
}
