//! Timelines as a file in Chrome's trace event format, which Perfetto and chrome://tracing open.
//!
//! The file is written beside its place and renamed into it, so that it is whole or not there.

use crate::intervals::{Engine, Recording};
use crate::options::UsageError;
use anyhow::Context;
use serde::Serialize;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A trace file to be, and what it will contain.
pub struct Trace {
    path: PathBuf,
    events: Vec<TraceEvent>,
    processes: u32,
}

/// One event of the format. Times are in microseconds.
#[derive(Serialize)]
#[serde(untagged)]
enum TraceEvent {
    /// A complete event: something with a start and a duration.
    Complete {
        name: String,
        cat: String,
        ph: &'static str,
        ts: f64,
        dur: f64,
        pid: u32,
        tid: usize,
        args: Details,
    },
    /// Metadata: the name of a process or of a thread.
    Name {
        name: &'static str,
        ph: &'static str,
        pid: u32,
        tid: usize,
        args: Named,
    },
}

#[derive(Serialize)]
struct Details {
    stream: String,
    #[serde(skip_serializing_if = "is_zero")]
    bytes: u64,
}

#[derive(Serialize)]
struct Named {
    name: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    trace_events: &'a [TraceEvent],
    display_time_unit: &'static str,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

impl Trace {
    /// Makes sure, before anything is run, that the file can be written where it is wanted.
    pub fn create(path: PathBuf) -> Result<Self, UsageError> {
        let refuse = |why: String| UsageError(format!("--trace {}: {why}", path.display()));
        if path.is_dir() {
            return Err(refuse("this is a folder".to_owned()));
        }
        // A nameless file: if the process dies, nothing of it is left.
        tempfile::tempfile_in(folder_of(&path))
            .map_err(|error| refuse(format!("cannot write there: {error}")))?;
        Ok(Self {
            path,
            events: Vec::new(),
            processes: 0,
        })
    }

    /// Adds the recordings of a part, each under its variant's name.
    pub fn add(&mut self, part: &str, recordings: Vec<(String, Recording)>) {
        for (variant, recording) in recordings {
            self.add_recording(&format!("{part}: {variant}"), &recording);
        }
    }

    /// A recording becomes a process, its engines and its streams become that process's threads.
    fn add_recording(&mut self, title: &str, recording: &Recording) {
        self.processes += 1;
        let pid = self.processes;
        let streams = recording.streams();
        self.name(
            "process_name",
            pid,
            0,
            format!("{title} [{}]", recording.source),
        );
        for (tid, engine) in Engine::ALL
            .into_iter()
            .enumerate()
            .filter(|(_, e)| !recording.of(*e).is_empty())
        {
            self.name("thread_name", pid, tid, format!("engine: {engine}"));
        }
        for (position, stream) in streams.iter().enumerate() {
            self.name(
                "thread_name",
                pid,
                Engine::ALL.len() + position,
                format!("stream: {stream}"),
            );
        }
        for interval in &recording.intervals {
            let engine = interval.engine as usize;
            let stream = streams
                .iter()
                .position(|stream| *stream == interval.stream)
                .unwrap_or(0);
            for tid in [engine, Engine::ALL.len() + stream] {
                self.events.push(TraceEvent::Complete {
                    name: interval.name.clone(),
                    cat: interval.engine.to_string(),
                    ph: "X",
                    ts: interval.span.start as f64 / 1e3,
                    dur: interval.span.nanoseconds() as f64 / 1e3,
                    pid,
                    tid,
                    args: Details {
                        stream: interval.stream.clone(),
                        bytes: interval.bytes,
                    },
                });
            }
        }
    }

    fn name(&mut self, what: &'static str, pid: u32, tid: usize, name: String) {
        self.events.push(TraceEvent::Name {
            name: what,
            ph: "M",
            pid,
            tid,
            args: Named { name },
        });
    }

    /// Writes the file and returns its path.
    pub fn write(self) -> anyhow::Result<PathBuf> {
        let file = File {
            trace_events: &self.events,
            display_time_unit: "ns",
        };
        write_beside(&self.path, |out| Ok(serde_json::to_writer(out, &file)?))
            .with_context(|| format!("cannot write the trace {}", self.path.display()))?;
        Ok(self.path)
    }
}

/// Writes a file under a temporary name in the folder of `path`, then gives it its name.
fn write_beside(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder_of(path))?;
    let mut out = BufWriter::new(file.as_file_mut());
    fill(&mut out)?;
    out.flush()?;
    drop(out);
    file.persist(path)?;
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
