//! The cause of the host's wait.

use crate::analysis::facts::{Facts, TimedHostCall};
use chapter_results::intervals::{Engine, Recording};
use std::collections::BTreeMap;

/// The calls in which the host waited for the device: synchronisations, and copies whose call returned after the copy's end.
pub struct HostWaits<'a> {
    /// By thread, in order of their ends, with the pageable copy that was the reason.
    by_thread: BTreeMap<u64, Vec<(&'a TimedHostCall, Option<usize>)>>,
    /// The times at which operations of each stream were enqueued, in order.
    calls: BTreeMap<&'a str, Vec<i64>>,
}

impl<'a> HostWaits<'a> {
    /// The host's calls in a recording.
    pub fn of(recording: &'a Recording, facts: &'a Facts) -> Self {
        let mut waits = Self {
            by_thread: BTreeMap::new(),
            calls: BTreeMap::new(),
        };
        for call in &facts.host_waits {
            waits.add(call, None);
        }
        for (place, interval) in recording.intervals.iter().enumerate() {
            let Some(call) = facts.call(place) else {
                continue;
            };
            let calls = waits.calls.entry(&interval.stream).or_default();
            calls.push(call.start);
            let is_copy = !matches!(interval.engine, Engine::Kernel | Engine::HostFunction);
            let pageable = facts.is_pageable(place);
            if is_copy && (pageable || call.end >= interval.span.end.cast_signed()) {
                waits.add(call, pageable.then_some(place));
            }
        }
        for calls in waits.by_thread.values_mut() {
            calls.sort_by_key(|(call, pageable)| (call.end, pageable.is_some()));
        }
        waits
            .calls
            .values_mut()
            .for_each(|calls| calls.sort_unstable());
        waits
    }

    fn add(&mut self, call: &'a TimedHostCall, pageable: Option<usize>) {
        let of_thread = self.by_thread.entry(call.thread).or_default();
        of_thread.push((call, pageable));
    }

    /// The last call that kept the thread of `call` before it, if that lasted beyond `since`; with the pageable copy that was
    /// the reason.
    pub fn last(
        &self,
        call: &TimedHostCall,
        since: i64,
    ) -> Option<(&'a TimedHostCall, Option<usize>)> {
        let of_thread = self.by_thread.get(&call.thread)?;
        let before = of_thread.partition_point(|(wait, _)| wait.end <= call.start);
        let &(wait, pageable) = of_thread[..before].last()?;
        (wait.end >= since).then_some((wait, pageable))
    }

    /// Whether a call made a copy of pageable memory.
    pub fn is_pageable(&self, call: &TimedHostCall) -> bool {
        let of_thread = self.by_thread.get(&call.thread);
        let of_thread = of_thread.map_or(&[][..], Vec::as_slice);
        let from = of_thread.partition_point(|(wait, _)| wait.end < call.end);
        let same = of_thread[from..]
            .iter()
            .take_while(|(wait, _)| wait.end == call.end);
        same.into_iter()
            .any(|(wait, pageable)| pageable.is_some() && wait.start >= call.start)
    }

    /// Whether an operation of the stream was enqueued within these times, the last excluded.
    pub fn called_between(&self, stream: &str, first: i64, last: i64) -> bool {
        let calls = self.calls.get(stream).map_or(&[][..], Vec::as_slice);
        let from = calls.partition_point(|&at| at < first);
        calls.get(from).is_some_and(|&at| at < last)
    }
}
