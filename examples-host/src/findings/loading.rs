//! A device that is fed by host threads: how long it waits for them, by prediction and by the intervals.
//!
//! Each batch is loaded by a host thread, copied in, and worked on by a kernel. A thread may be `depth` batches ahead of the
//! kernel: before it loads a batch it waits for the kernel of its batch `depth + 1` before. With loads L, copies H and kernels K of
//! equal length, a hand-over R, T threads and depth d, a batch takes max(K, H, L / T, (L + R + H + K) / (T (d + 1))): the device, the
//! link and the threads each set a pace, and so does the ring.

use crate::expect::{Expected, share};
use crate::intervals::{Engine, Recording, Span, total, union};
use crate::measure::Outcome;
use crate::part::Part;
use crate::table::Table;
use crate::units;
use std::collections::HashSet;
use std::time::Duration;

/// By how much, as a share of the time, the idle time may differ from the prediction.
const TOLERANCE: f64 = 0.05;

/// What each batch takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loading {
    /// To load the batch, for each of them.
    pub loads: Vec<Duration>,
    /// From a kernel's end to the thread, and from the thread to the device: its waking up, its calls, the events.
    pub hand_over: Duration,
    /// To copy one in.
    pub copy: Duration,
    /// To work on one.
    pub kernel: Duration,
}

/// Who loads, and how far ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Threads: each loads one batch at a time, in turn.
    pub threads: usize,
    /// Batches that a thread may be ahead of the kernels of its own.
    pub depth: usize,
}

impl Feed {
    /// When a thread begins, whose first batch takes `load`: one after the other, so that they do not finish loads at the same time.
    pub fn begin(self, thread: usize, load: Duration) -> Duration {
        load * thread as u32 / self.threads as u32
    }
}

impl Loading {
    /// The idle share of the device from the first kernel's start to the last one's end, with `feed`.
    pub fn idle(&self, feed: Feed) -> f64 {
        let Feed { threads, depth } = feed;
        let begins = |thread| feed.begin(thread, self.loads[thread]);
        let mut loaded: Vec<Duration> = (0..threads).map(begins).collect();
        let mut copied = Duration::ZERO;
        let mut ends: Vec<Duration> = Vec::new();
        let mut first = None;
        for (batch, load) in self.loads.iter().enumerate() {
            let ring = batch.checked_sub(threads * (depth + 1));
            let emptied = ring.map_or(Duration::ZERO, |before| ends[before] + self.hand_over);
            let own = &mut loaded[batch % threads];
            *own = emptied.max(*own) + *load;
            copied = copied.max(*own) + self.copy;
            let start = ends.last().map_or(copied, |&end| copied.max(end));
            first.get_or_insert(start);
            ends.push(start + self.kernel);
        }
        let all = ends.last().zip(first).map(|(&end, first)| end - first);
        let busy = self.kernel.mul_f64(self.loads.len() as f64);
        all.map_or(0.0, |all| 1.0 - busy.as_secs_f64() / all.as_secs_f64())
    }

    /// The idle share that no depth of these threads falls below: what the threads or the link leave.
    pub fn bound(&self, threads: usize) -> f64 {
        let depth = self.loads.len();
        self.idle(Feed { threads, depth })
    }
}

/// The share of the time from the first kernel's start to the last one's end in which no kernel ran.
pub fn idle(recording: &Recording) -> f64 {
    let busy = union(recording.of(Engine::Kernel));
    let (Some(first), Some(last)) = (busy.first(), busy.last()) else {
        return 0.0;
    };
    let all = Span {
        start: first.start,
        end: last.end,
    };
    1.0 - total(&busy).as_secs_f64() / total(&[all]).as_secs_f64()
}

/// The share of the copies in whose call returned only when they had ended: those of pageable memory block the thread. The first copy
/// of a thread does not count: the driver prepares itself for the thread in that call.
fn blocking(recording: &Recording) -> f64 {
    let mut threads = HashSet::new();
    let (mut blocked, mut all) = (0_u32, 0_u32);
    for call in &recording.calls {
        let copy = call.interval.and_then(|at| recording.intervals.get(at));
        let Some(copy) = copy.filter(|copy| copy.engine == Engine::HostToDevice) else {
            continue;
        };
        if threads.insert(&call.thread) {
            continue;
        }
        let end = i64::try_from(copy.span.end).unwrap_or(i64::MAX);
        all += 1;
        blocked += u32::from(call.span.end >= end);
    }
    f64::from(blocked) / f64::from(all.max(1))
}

impl Part<'_> {
    /// Prints the least time of each outcome, and its idle share beside the predicted one and the bound. Claims that the idle share
    /// is the predicted one, that it is not below the bound, and that copies are asynchronous.
    pub fn expect_loading<const N: usize>(
        &mut self,
        outcomes: &[Outcome; N],
        feeds: [Feed; N],
        loading: &Loading,
    ) {
        let least = format!("least, {}", self.device().times());
        let mut table = Table::new(["variant", &least, "GPU idle", "predicted", "bound"]);
        for (outcome, feed) in outcomes.iter().zip(feeds) {
            let shares = [
                idle(&outcome.recording),
                loading.idle(feed),
                loading.bound(feed.threads),
            ];
            let cells = [outcome.name.to_string(), units::time(outcome.times.min())];
            table.row(cells.into_iter().chain(shares.map(units::percent)));
        }
        self.say(table);
        for (outcome, feed) in outcomes.iter().zip(feeds) {
            let (name, found, predicted) = (
                &outcome.name,
                share(idle(&outcome.recording)),
                loading.idle(feed),
            );
            let mut expect = |what: &str, sentence: &str, expected: Expected| {
                let sentence = format!("{name}: {sentence}");
                let expected = expected.in_records_of(&outcome.recording);
                self.expect(outcome.id(what), &sentence, expected);
            };
            let most = found.at_most(predicted + TOLERANCE);
            expect(
                "idle-most",
                "the GPU is not idle for longer than predicted",
                most,
            );
            let least = found.at_least(predicted - TOLERANCE);
            expect(
                "idle-least",
                "the GPU is not idle for less than predicted",
                least,
            );
            // A thread may be interrupted before its call returns.
            let returned = share(blocking(&outcome.recording)).at_most(0.2);
            expect("asynchronous", "copies in hold their thread up", returned);
            let bound = found.at_least(loading.bound(feed.threads) - TOLERANCE);
            expect("not-below-bound", "nor for less than its bound", bound);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{HostCall, HostSpan, Interval, Source};

    fn loading(load: u64, copy: u64, kernel: u64, batches: usize) -> Loading {
        let us = Duration::from_micros;
        Loading {
            loads: vec![us(load); batches],
            hand_over: Duration::ZERO,
            copy: us(copy),
            kernel: us(kernel),
        }
    }

    /// The idle share when a batch takes `period` and its kernel `kernel`.
    fn of_period(found: f64, kernel: f64, period: f64) -> bool {
        (found - (1.0 - kernel / period)).abs() < 0.01
    }

    /// A copy in of a thread, from 0 to 10 µs on the device, whose call returns when `blocks` says.
    fn copied(recording: &mut Recording, thread: &str, blocks: bool) {
        let interval = recording.intervals.len();
        recording.intervals.push(Interval {
            device: 0,
            engine: Engine::HostToDevice,
            name: "copy in".to_owned(),
            stream: "copy".to_owned(),
            span: Span {
                start: 0,
                end: 10_000,
            },
            bytes: 4,
        });
        recording.calls.push(HostCall {
            name: "cuMemcpyHtoDAsync".to_owned(),
            thread: thread.to_owned(),
            span: HostSpan {
                start: 0,
                end: if blocks { 10_001 } else { 1 },
            },
            stream: None,
            interval: Some(interval),
        });
    }

    #[test]
    fn a_copy_blocks_if_its_call_returns_behind_it_but_for_the_first_of_a_thread() {
        let mut recording = Recording {
            source: Source::SoftwareGpu,
            intervals: Vec::new(),
            dependencies: Vec::new(),
            ranges: Vec::new(),
            calls: Vec::new(),
            findings: Vec::new(),
        };
        for thread in ["host thread 0", "host thread 1"] {
            copied(&mut recording, thread, true);
            copied(&mut recording, thread, false);
            copied(&mut recording, thread, false);
        }
        assert_eq!(blocking(&recording), 0.0);
        copied(&mut recording, "host thread 0", true);
        assert_eq!(blocking(&recording), 0.2);
    }

    #[test]
    fn a_batch_takes_the_longest_of_device_link_threads_and_ring() {
        let idle = |loading: &Loading, threads, depth| loading.idle(Feed { threads, depth });
        let even = loading(90, 60, 100, 400);
        assert!(of_period(idle(&even, 1, 0), 100.0, 250.0));
        assert!(of_period(idle(&even, 1, 1), 100.0, 125.0));
        assert!(of_period(idle(&even, 1, 2), 100.0, 100.0));
        let slow = loading(300, 20, 100, 400);
        assert!(of_period(slow.bound(1), 100.0, 300.0));
        assert!(of_period(slow.bound(2), 100.0, 150.0));
        assert!(of_period(slow.bound(4), 100.0, 100.0));
        assert!(of_period(idle(&slow, 2, 0), 100.0, 210.0));
        // A hand-over belongs to the ring's way, not to the thread's load.
        let handed = |loading: Loading| Loading {
            hand_over: Duration::from_micros(50),
            ..loading
        };
        assert!(of_period(idle(&handed(even), 1, 1), 100.0, 150.0));
        assert!(of_period(idle(&handed(slow), 1, 4), 100.0, 300.0));
    }

    #[test]
    fn threads_begin_one_after_the_other_within_one_load() {
        let feed = |threads| Feed { threads, depth: 1 };
        let begins = |threads, thread| feed(threads).begin(thread, Duration::from_micros(400));
        let of_four = [0, 1, 2, 3].map(|thread| begins(4, thread).as_micros());
        assert_eq!(of_four, [0, 100, 200, 300]);
        assert_eq!(begins(1, 0), Duration::ZERO);
    }

    #[test]
    fn a_deep_ring_evens_out_what_varies() {
        let mut loads = loading(30, 10, 100, 400);
        let long = loads.loads.iter_mut().skip(3).step_by(4);
        long.for_each(|load| *load = Duration::from_micros(270));
        let idle = |depth| loads.idle(Feed { threads: 1, depth });
        assert!(
            idle(1) > idle(2) + 0.05 && idle(2) > idle(4) + 0.05,
            "{} {} {}",
            idle(1),
            idle(2),
            idle(4)
        );
        assert!(idle(4) < 0.01);
    }
}
