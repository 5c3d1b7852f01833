//! The goal of a lab: what its solution does on the software GPU.

use crate::catalogue::Lab;
use anyhow::{Context, Result};
use chapter_results::intervals::{Engine, Interval, Recording};
use chapter_results::lab::LabRecord;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// What the device did, as numbers that do not depend on the order or on the device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceWork {
    /// Bytes copied from host to device.
    pub bytes_in: u64,
    /// Bytes copied from device to host.
    pub bytes_out: u64,
    /// Launches, by kernel.
    pub launches: BTreeMap<String, u64>,
    /// Threads of all launches.
    pub threads: u64,
}

/// A goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// Its timeline.
    pub recording: Recording,
    /// Its work.
    pub work: DeviceWork,
}

impl DeviceWork {
    /// The work until the result was handed in.
    pub fn of(record: &LabRecord) -> Self {
        let mut work = Self {
            threads: record.threads,
            ..Self::default()
        };
        for interval in &record.recording.intervals {
            match interval.engine {
                Engine::HostToDevice => work.bytes_in += interval.bytes,
                Engine::DeviceToHost => work.bytes_out += interval.bytes,
                Engine::Kernel => *work.launches.entry(interval.name.clone()).or_default() += 1,
                _ => {}
            }
        }
        work
    }

    /// Whether something of what is wanted was not done at all, or less of it.
    pub fn is_less_than(&self, wanted: &Self) -> bool {
        let ran = |kernel: &String| self.launches.contains_key(kernel);
        self.bytes_in < wanted.bytes_in
            || self.bytes_out < wanted.bytes_out
            || self.threads < wanted.threads
            || !wanted.launches.keys().all(ran)
    }

    /// How it differs from what is wanted, in words; `None` when it does not.
    pub fn difference(&self, wanted: &Self) -> Option<String> {
        let mut words = Vec::new();
        let mut compare = |what: &str, own: u64, wanted: u64| {
            if own != wanted {
                words.push(format!("{own} {what} instead of {wanted}"));
            }
        };
        compare("bytes copied to the device", self.bytes_in, wanted.bytes_in);
        compare("bytes copied to the host", self.bytes_out, wanted.bytes_out);
        let kernels = self.launches.keys().chain(wanted.launches.keys());
        let kernels: std::collections::BTreeSet<&String> = kernels.collect();
        for kernel in kernels {
            let count = |work: &Self| work.launches.get(kernel).copied().unwrap_or(0);
            compare(&format!("launches of {kernel}"), count(self), count(wanted));
        }
        if words.is_empty() {
            let mut compare = |what: &str, own: u64, wanted: u64| {
                if own != wanted {
                    words.push(format!("{own} {what} instead of {wanted}"));
                }
            };
            compare("threads launched", self.threads, wanted.threads);
        }
        (!words.is_empty()).then(|| words.join(", "))
    }
}

impl Goal {
    /// The goal of a run: its recording without the host's calls, which no chart of a goal shows, but with its waits.
    pub fn of(record: &LabRecord) -> Self {
        let mut recording = record.recording.clone();
        recording
            .calls
            .retain(|call| call.waits() && call.stream.is_some());
        recording.findings.clear();
        Self {
            recording,
            work: DeviceWork::of(record),
        }
    }

    /// Reads the goal of a lab.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(lab: &Lab, root: &Path) -> Result<Self> {
        let path = lab.goal(root);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// The operations of a lab that count: from the operation that starts the clock, without memsets and what the lab leaves out.
pub fn counted(lab: &Lab, recording: &Recording) -> Recording {
    let recording = recording.clone();
    let starts = |interval: &&Interval| {
        lab.clock_starts_with.as_ref().is_none_or(|start| {
            interval.engine == start.engine && interval.bytes >= start.at_least_bytes
        })
    };
    let work = |interval: &&Interval| interval.engine != Engine::Set;
    let first = recording
        .intervals
        .iter()
        .filter(work)
        .find(starts)
        .map(|interval| interval.span.start);
    let first = first.unwrap_or(0);
    recording.only(|interval| {
        interval.engine != Engine::Set
            && !lab.clock_leaves_out.contains(&interval.engine)
            && interval.span.start >= first
    })
}

/// How long the busiest engine works.
pub fn bound(recording: &Recording) -> Duration {
    let busy = Engine::ALL.into_iter().map(|engine| recording.busy(engine));
    busy.max().unwrap_or_default()
}
