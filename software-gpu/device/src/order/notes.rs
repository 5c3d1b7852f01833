//! Near misses: records and waits that almost ordered two operations, which a report can point at.

use std::collections::VecDeque;

use super::advice::with_article;
use super::happens_before::HappensBefore;
use super::ids::{EventId, StreamId, StreamKind};
use super::site::{AccessSite, Site};

/// How many records of an event, or waits of a stream or thread, are remembered.
const REMEMBERED: usize = 16;

/// An event was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventRecord {
    pub(super) stream: StreamId,
    /// Its place among all calls.
    pub(super) called: u64,
}

/// A stream or a thread waited for an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note {
    pub(super) event: EventId,
    /// The record that the event referred to.
    pub(super) record: Option<EventRecord>,
    /// Its place among all calls.
    pub(super) called: u64,
}

/// Adds to a list that remembers the last few.
pub(super) fn remember<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() == REMEMBERED {
        list.pop_front();
    }
    list.push_back(item);
}

impl EventRecord {
    fn covers(&self, site: &Site) -> bool {
        stream_of(site) == Some(self.stream) && self.called > site.called
    }
}

fn stream_of(site: &Site) -> Option<StreamId> {
    site.place.stream()
}

impl HappensBefore {
    /// Describes the call of the program that resembles the missing dependency between two accesses, if there is one.
    pub(super) fn nearly(&self, first: &Site, second: &Site) -> Option<String> {
        stream_of(first)?;
        if first.place.is_before_in_stream(&second.place) {
            return None;
        }
        let (waiter, waits) = match second.place {
            AccessSite::Host { .. } => {
                (second.thread.to_string(), self.thread_waits(second.thread))
            }
            _ => {
                let stream = stream_of(second)?;
                (self.names.of(stream), self.stream_waits(stream))
            }
        };
        let waits = waits.into_iter().flatten().rev();
        let (before, behind): (Vec<_>, Vec<_>) =
            waits.partition(|wait| wait.called < second.called);
        let what = with_article(&first.description.what);
        let early = before
            .iter()
            .find_map(|wait| self.misses(wait, first, &waiter));
        let submitter = || {
            let waits = self.thread_waits(second.thread).into_iter().flatten();
            let before = waits.rev().filter(|wait| wait.called < second.called);
            let waiter = second.thread.to_string();
            let mut missed = before.filter_map(|wait| self.misses(wait, first, &waiter));
            missed.next().filter(|_| !second.place.is_host())
        };
        let late = || {
            let late = behind
                .iter()
                .find(|wait| wait.record.is_some_and(|record| record.covers(first)))?;
            let event = late.event;
            let later = match second.place {
                AccessSite::Host { .. } => "its own access".into(),
                _ => with_article(&second.description.what),
            };
            Some(format!(
                "{waiter} waits for {event}, which was recorded after {what}, but only after {later}"
            ))
        };
        let unused = || {
            let covers = |records: &VecDeque<EventRecord>| {
                records.back().is_some_and(|record| record.covers(first))
            };
            let stream = stream_of(first)?;
            let mut recorded = self.recorded_in(stream);
            let is_recorded = |event: &EventId| {
                let event = self.events.get(event);
                event.is_some_and(|event| covers(&event.records))
            };
            let event = recorded.find(is_recorded)?;
            let stream = self.names.of(stream);
            Some(format!(
                "{event} was recorded on {stream} after {what}, but {waiter} does not wait for it"
            ))
        };
        early
            .or_else(submitter)
            .or_else(late)
            .or_else(unused)
            .or_else(|| self.apart(first, second))
    }

    /// Why this wait does not order what comes behind it after `first`, although its event has to do with it.
    fn misses(&self, wait: &Note, first: &Site, waiter: &str) -> Option<String> {
        let stream = stream_of(first)?;
        let (event, what) = (wait.event, with_article(&first.description.what));
        let records = self.events.get(&event).map(|event| &event.records);
        let covering = |record: &&EventRecord| record.covers(first);
        let later = |record: &&EventRecord| record.called > wait.called;
        let mut records = records.into_iter().flatten();
        match wait.record {
            None => records.find(later).map(|_| {
                format!(
                    "{waiter} waited for {event} before its first record: that wait had no effect"
                )
            }),
            Some(record) if record.stream == stream && !record.covers(first) => {
                let again = records.any(|record| covering(&record) && later(&record));
                let again = if again {
                    ", and recorded again only after the wait: a wait joins the last record at the time of the call"
                } else {
                    ""
                };
                Some(format!(
                    "{waiter} waited for {event}, but it had been recorded before {what}{again}"
                ))
            }
            Some(record) => {
                let replaced =
                    |earlier: &EventRecord| earlier.covers(first) && earlier.called < record.called;
                let (stream, place) = (self.names.of(stream), self.names.of(record.stream));
                let text = || {
                    format!(
                        "{event} was recorded on {stream} after {what}, but recorded again on {place} before {waiter} waited for it"
                    )
                };
                (!record.covers(first) && records.any(replaced)).then(text)
            }
        }
    }

    /// One side is in the legacy stream and the other in a stream that takes no part in its rules.
    fn apart(&self, first: &Site, second: &Site) -> Option<String> {
        let kind = |site: &Site| match site.place {
            AccessSite::Stream { stream, kind, .. } => Some((stream, kind)),
            _ => None,
        };
        match (kind(first)?, kind(second)?) {
            ((stream, StreamKind::NonBlocking), (legacy, StreamKind::Legacy))
            | ((legacy, StreamKind::Legacy), (stream, StreamKind::NonBlocking)) => Some(format!(
                "{} was created with CU_STREAM_NON_BLOCKING: {} does not synchronise with it",
                self.names.of(stream),
                self.names.of(legacy)
            )),
            _ => None,
        }
    }
}
