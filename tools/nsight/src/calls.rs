//! The host's calls, with their times.

use super::NsightError;
use super::names::{Strings, process, thread};
use super::table::rows;
use rusqlite::Connection;
use std::collections::BTreeMap;

/// A call, in nanoseconds on the export's clock.
#[derive(Clone, Debug)]
pub struct RawCall {
    /// The function, without the version that Nsight appends.
    pub name: String,
    /// The process.
    pub process: u64,
    /// The thread.
    pub thread: u64,
    /// When it was called.
    pub start: i64,
    /// When it returned.
    pub end: i64,
}

/// The calls of an export.
#[derive(Debug, Default)]
pub struct Calls {
    /// By process and correlation, which operations have too.
    by_correlation: BTreeMap<(u64, i64), RawCall>,
    /// All of them.
    pub all: Vec<RawCall>,
    /// The calls that wait for a device, a stream, an event, or everything.
    pub waits: Vec<RawCall>,
    /// The calls that launch a graph, with their correlation.
    pub graph_launches: Vec<(RawCall, i64)>,
    /// The intervals in which a process captured its calls into a graph: those operations do not run themselves.
    captures: Vec<(u64, i64, i64)>,
}

impl Calls {
    /// The kinds of calls in an export: the runtime's, the driver's, or both.
    pub fn of(database: &Connection, strings: &Strings) -> Result<Self, NsightError> {
        let mut calls = Self::default();
        let mut captures = Captures::default();
        for table in ["CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"] {
            let optional = ["globalTid", "correlationId", "nameId"];
            for row in rows(database, table, ["start", "end"], optional)? {
                let times = row.time(0).zip(row.time(1));
                let Some((start, end)) = times.filter(|&(start, end)| start <= end) else {
                    continue;
                };
                let global = row.integer(2).unwrap_or(0);
                let call = RawCall {
                    name: plain(strings.of_column(&row, 4).unwrap_or("a call")).to_owned(),
                    process: process(global),
                    thread: thread(global),
                    start,
                    end,
                };
                captures.add(&call);
                calls.add(call, row.integer(3));
            }
        }
        calls.waits.sort_by_key(|call| (call.start, call.end));
        calls.captures = captures.spans();
        Ok(calls)
    }

    fn add(&mut self, call: RawCall, correlation: Option<i64>) {
        self.all.push(call.clone());
        if waits(&call.name) {
            self.waits.push(call.clone());
        }
        let Some(correlation) = correlation else {
            return;
        };
        if launches_graph(&call.name) {
            self.graph_launches.push((call.clone(), correlation));
        }
        let key = (call.process, correlation);
        // A call of the runtime contains those of the driver.
        let outer = self
            .by_correlation
            .entry(key)
            .or_insert_with(|| call.clone());
        if call.start < outer.start {
            *outer = call;
        }
    }

    /// Whether a process was capturing a graph at that time.
    pub fn captures(&self, process: u64, at: i64) -> bool {
        let mut captures = self.captures.iter();
        captures.any(|&(owner, from, to)| owner == process && (from..=to).contains(&at))
    }

    /// The call that an operation of a process leads to.
    pub fn get(&self, process: u64, correlation: Option<i64>) -> Option<&RawCall> {
        self.by_correlation.get(&(process, correlation?))
    }
}

/// The calls that begin and end captures: process, thread and time.
#[derive(Default)]
struct Captures {
    begun: Vec<(u64, u64, i64)>,
    ended: Vec<(u64, u64, i64)>,
}

impl Captures {
    fn add(&mut self, call: &RawCall) {
        let name = call
            .name
            .strip_prefix("cuda")
            .or(call.name.strip_prefix("cu"));
        let Some(name) = name else { return };
        if name.starts_with("StreamBeginCapture") {
            self.begun.push((call.process, call.thread, call.start));
        } else if name.starts_with("StreamEndCapture") {
            self.ended.push((call.process, call.thread, call.end));
        }
    }

    /// From each beginning to the next end of the same thread; one without an end lasts.
    fn spans(mut self) -> Vec<(u64, i64, i64)> {
        self.ended.sort_unstable();
        let spans = self.begun.into_iter().map(|(process, thread, from)| {
            let mut ends = self.ended.iter();
            let end = ends.find(|&&(p, t, at)| (p, t) == (process, thread) && at >= from);
            (process, from, end.map_or(i64::MAX, |&(.., at)| at))
        });
        spans.collect()
    }
}

/// `cudaMemcpyAsync` of `cudaMemcpyAsync_v3020`.
fn plain(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((plain, version)) if version.bytes().all(|byte| byte.is_ascii_digit()) => plain,
        _ => name,
    }
}

/// Whether the host waits in a function of this name.
fn waits(name: &str) -> bool {
    const FREES: [&str; 4] = ["cudaFree", "cuMemFree", "cudaFreeHost", "cuMemFreeHost"];
    name.contains("Synchronize") || FREES.contains(&name)
}

/// Whether a function of this name launches a graph.
fn launches_graph(name: &str) -> bool {
    ["cudaGraphLaunch", "cuGraphLaunch"].contains(&name.trim_end_matches("_ptsz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_version_and_nothing_else() {
        assert_eq!(plain("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
        assert_eq!(plain("cuMemcpyHtoDAsync_v2"), "cuMemcpyHtoDAsync");
        assert_eq!(plain("cuda_vector_add"), "cuda_vector_add");
        assert_eq!(plain("cuLaunchKernel"), "cuLaunchKernel");
    }

    #[test]
    fn the_host_waits_in_synchronisations_and_frees() {
        assert!(waits("cudaStreamSynchronize") && waits("cuCtxSynchronize") && waits("cudaFree"));
        assert!(waits("cuMemFreeHost"));
        assert!(!waits("cudaFreeAsync") && !waits("cudaStreamWaitEvent"));
    }
}
