//! The layout of a chart: a row per engine, stream and host thread, with as many lanes as it takes for nothing to
//! lie upon anything else.

use chapter_results::intervals::{Engine, Recording, Span};
use std::cmp::Reverse;

/// What a row is a row of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The operations that occupied an engine.
    Engine(Engine),
    /// The operations of a stream.
    Stream,
    /// The phases of a host thread.
    Thread,
    /// The calls of a host thread.
    Calls,
}

/// One thing in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneEntry {
    /// Which: a place in [`Recording::intervals`], in a thread's rows in [`Recording::ranges`] or [`Recording::calls`].
    pub index: usize,
    /// The lane, from the top.
    pub lane: usize,
}

/// A row of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartRow {
    /// The subject of the row.
    pub kind: Kind,
    /// The engine's, the stream's or the thread's name.
    pub name: String,
    /// How many lanes it has; at least one.
    pub lanes: usize,
    /// Its items, in order of their starts.
    pub places: Vec<LaneEntry>,
}

/// The rows of a recording: engines that were used, streams in the order in which they first appear, host threads.
pub fn rows(recording: &Recording) -> Vec<ChartRow> {
    let spans: Vec<Span> = recording.intervals.iter().map(|i| i.span).collect();
    let intervals =
        |which: &dyn Fn(usize) -> bool| (0..spans.len()).filter(|i| which(*i)).collect();
    let mut rows = Vec::new();
    for engine in Engine::ALL {
        let own = intervals(&|i| recording.intervals[i].engine == engine);
        rows.push(row(Kind::Engine(engine), &engine.to_string(), own, &spans));
    }
    for stream in recording.streams() {
        let own = intervals(&|i| recording.intervals[i].stream == stream);
        rows.push(row(Kind::Stream, stream, own, &spans));
    }
    let ranges: Vec<Span> = recording.ranges.iter().map(|range| range.span).collect();
    let calls = calls(recording);
    for thread in threads(recording) {
        let own = (0..ranges.len()).filter(|i| recording.ranges[*i].thread == thread);
        rows.push(row(Kind::Thread, thread, own.collect(), &ranges));
        let own = (0..calls.len()).filter(|i| recording.calls[*i].thread == thread);
        let name = format!("{thread}: calls");
        rows.push(row(Kind::Calls, &name, own.collect(), &calls));
    }
    rows.retain(|row| !row.places.is_empty());
    rows
}

/// The spans of the host's calls, on a clock that begins with the first.
fn calls(recording: &Recording) -> Vec<Span> {
    let spans = recording.calls.iter().map(|call| call.span);
    let first = spans.clone().map(|span| span.start).min().unwrap_or(0);
    spans
        .map(|span| Span {
            start: span.start.abs_diff(first),
            end: span.end.abs_diff(first),
        })
        .collect()
}

/// The host threads, in the order in which they first appear.
fn threads(recording: &Recording) -> Vec<&str> {
    let mut threads: Vec<&str> = Vec::new();
    let of_ranges = recording.ranges.iter().map(|range| &range.thread);
    let of_calls = recording.calls.iter().map(|call| &call.thread);
    for thread in of_ranges.chain(of_calls) {
        if !threads.contains(&thread.as_str()) {
            threads.push(thread);
        }
    }
    threads
}

/// Puts everything into the first lane that is free.
fn row(kind: Kind, name: &str, mut own: Vec<usize>, spans: &[Span]) -> ChartRow {
    own.sort_by_key(|&i| (spans[i].start, Reverse(spans[i].end), i));
    let mut ends: Vec<u64> = Vec::new();
    let mut place = |index: usize| {
        let Span { start, end } = spans[index];
        let free = ends.iter().position(|taken| *taken <= start);
        let lane = free.unwrap_or_else(|| {
            ends.push(0);
            ends.len() - 1
        });
        ends[lane] = end;
        LaneEntry { index, lane }
    };
    let places = own.into_iter().map(&mut place).collect();
    ChartRow {
        kind,
        name: name.to_owned(),
        lanes: ends.len().max(1),
        places,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{interval, one_stream, range, recording};
    use proptest::prelude::*;

    #[test]
    fn engines_then_streams_then_threads() {
        let mut recording = recording(vec![
            interval(Engine::Kernel, "b", 10, 20),
            interval(Engine::HostToDevice, "a", 0, 10),
            interval(Engine::Kernel, "a", 15, 20),
        ]);
        recording.ranges = vec![range("all", "main", 0, 20), range("part", "main", 5, 10)];
        let rows = rows(&recording);
        let names: Vec<_> = rows.iter().map(|r| (r.name.as_str(), r.lanes)).collect();
        assert_eq!(
            names,
            [("H2D", 1), ("kernel", 2), ("a", 1), ("b", 1), ("main", 2)]
        );
    }

    #[test]
    fn a_threads_calls_have_a_row_below_its_phases() {
        let mut recording = one_stream();
        recording.ranges = vec![range("enqueue", "main", 0, 20)];
        recording.calls[6].thread = "other".into();
        let rows = rows(&recording);
        let host: Vec<_> = rows[4..]
            .iter()
            .map(|r| (r.kind, &*r.name, r.lanes))
            .collect();
        let expected = [
            (Kind::Thread, "main", 1),
            (Kind::Calls, "main: calls", 1),
            (Kind::Calls, "other: calls", 1),
        ];
        assert_eq!(host, expected);
        assert_eq!(rows[5].places.len(), 6);
    }

    #[test]
    fn an_empty_recording_has_no_rows() {
        assert_eq!(rows(&recording(vec![])), []);
    }

    proptest! {
        #[test]
        fn nothing_lies_upon_anything_and_no_lane_is_wasted(
            spans in prop::collection::vec((0u64..200, 0u64..40), 1..40),
        ) {
            let kernels = spans.iter().map(|&(start, long)| interval(Engine::Kernel, "a", start, start + long));
            let recording = recording(kernels.collect());
            let row = &rows(&recording)[0];
            let span = |place: &LaneEntry| recording.intervals[place.index].span;
            for (i, a) in row.places.iter().enumerate() {
                for b in row.places[..i].iter().filter(|b| b.lane == a.lane) {
                    prop_assert!(span(b).end <= span(a).start);
                }
            }
            prop_assert_eq!(row.places.len(), spans.len());
            prop_assert!(row.lanes <= recording.max_concurrency(Engine::Kernel).max(1) + spans.iter().filter(|s| s.1 == 0).count());
        }
    }
}
