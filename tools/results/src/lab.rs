//! The record of a lab's run, for grading.

use crate::device::TimeSource;
use crate::intervals::Recording;
use serde::{Deserialize, Serialize};

/// What passed between the program of a lab and its driver until it handed in its result, and what that result was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabRecord {
    /// Where the times come from.
    pub times: TimeSource,
    /// The device's name.
    pub device: String,
    /// What ran when, and which calls the host made.
    pub recording: Recording,
    /// Threads of all kernels that the main thread launched.
    pub threads: u64,
    /// The result, if one was handed in.
    pub result: Option<HandedIn>,
    /// Times that the program measured, by name, in nanoseconds.
    #[serde(default)]
    pub times_handed_in: Vec<(String, f64)>,
    /// What the checkers of the software GPU found until the program ended, whole texts.
    #[serde(default)]
    pub reports: Vec<String>,
    /// What it had not given back when it ended; nothing is known of a program that has not come to its end.
    #[serde(default)]
    pub left: Option<Left>,
}

/// What a program has created and never given back, in numbers of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Left {
    /// Streams.
    pub streams: u64,
    /// Allocations of device memory, of pools too.
    pub device_memory: u64,
    /// Allocations of page-locked memory and registered memory.
    pub page_locked: u64,
}

/// A result, compared with the reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandedIn {
    /// Elements that the reference has.
    pub expected: u64,
    /// Elements that were handed in.
    pub elements: u64,
    /// How many of them are wrong.
    pub wrong: u64,
    /// The first wrong one: its place, what was expected, and what it is.
    pub first: Option<(u64, String, String)>,
}

/// The longest time and the most bytes that a record may name: every lab is far below, and sums of such values stay within 64 bits.
const MOST: u64 = 1 << 45;

/// The most operations and the most calls of the host.
const MOST_ENTRIES: usize = 100_000;

impl LabRecord {
    /// What makes a record one that no recorder has written: places that do not exist, times that run backwards, or figures that no
    /// lab reaches.
    pub fn contradiction(&self) -> Option<String> {
        let recording = &self.recording;
        let entries = [
            recording.intervals.len(),
            recording.calls.len(),
            recording.dependencies.len(),
            recording.ranges.len(),
            recording.findings.len(),
            self.reports.len(),
            self.times_handed_in.len(),
        ];
        if let Some(many) = entries.into_iter().find(|count| *count > MOST_ENTRIES) {
            return Some(format!("{many} entries, and {MOST_ENTRIES} are the most"));
        }
        let intervals = recording.intervals.iter();
        let figures = intervals.flat_map(|own| [own.span.start, own.span.end, own.bytes]);
        let ranges = recording.ranges.iter();
        let figures = figures.chain(ranges.flat_map(|own| [own.span.start, own.span.end]));
        let calls = recording.calls.iter();
        let of_host =
            calls.flat_map(|own| [own.span.start.unsigned_abs(), own.span.end.unsigned_abs()]);
        if let Some(large) = figures.chain(of_host).find(|figure| *figure > MOST) {
            return Some(format!("{large} ns or bytes, and {MOST} are the most"));
        }
        recording.contradiction()
    }
}

impl HandedIn {
    /// Whether every element is there and right.
    pub fn is_right(&self) -> bool {
        self.elements == self.expected && self.wrong == 0
    }
}
