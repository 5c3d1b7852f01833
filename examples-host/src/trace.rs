//! Timelines as a file in Chrome's trace event format, which Perfetto and chrome://tracing open.

use crate::intervals::{Engine, Recording};
use crate::new_file::NewFile;
use crate::options::UsageError;
use anyhow::Context;
use serde::Serialize;
use std::path::PathBuf;

/// A trace file to be, and what it will contain.
pub struct Trace {
    file: NewFile,
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
        Ok(Self {
            file: NewFile::create("--trace", path)?,
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
        self.file
            .write(|out| Ok(serde_json::to_writer(out, &file)?))
            .context("cannot write the trace")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{Interval, Source, Span};
    use serde_json::Value;
    use std::fs;
    #[cfg(unix)]
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn recording() -> Recording {
        let interval = |engine, stream: &str, start, end, bytes| Interval {
            engine,
            name: "affine".into(),
            stream: stream.into(),
            span: Span { start, end },
            bytes,
        };
        Recording::new(
            Source::SoftwareGpu,
            vec![
                interval(Engine::HostToDevice, "copy in", 1_000, 2_500, 4096),
                interval(Engine::Kernel, "compute", 2_500, 4_000, 0),
            ],
        )
    }

    fn write(folder: &Path) -> Value {
        let path = folder.join("trace.json");
        let mut trace = Trace::create(path.clone()).unwrap();
        trace.add("three-way", vec![("three streams".into(), recording())]);
        assert_eq!(trace.write().unwrap(), path);
        serde_json::from_reader(std::fs::File::open(path).unwrap()).unwrap()
    }

    #[test]
    fn each_interval_stands_in_the_row_of_its_engine_and_of_its_stream() {
        let folder = tempfile::tempdir().unwrap();
        let file = write(folder.path());
        let events = file["traceEvents"].as_array().unwrap();
        let of = |phase: &str| {
            events
                .iter()
                .filter(|event| event["ph"] == phase)
                .collect::<Vec<_>>()
        };
        let kernels: Vec<_> = of("X")
            .into_iter()
            .filter(|event| event["cat"] == "kernel")
            .collect();
        assert_eq!(kernels.len(), 2);
        assert_eq!(
            (kernels[0]["ts"].as_f64(), kernels[0]["dur"].as_f64()),
            (Some(1.5), Some(1.5))
        );
        let row_names: Vec<_> = of("M")
            .iter()
            .map(|event| event["args"]["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            row_names,
            [
                "three-way: three streams [the software GPU's log]",
                "engine: H2D",
                "engine: kernel",
                "stream: copy in",
                "stream: compute",
            ]
        );
        // Every event lies in a row that has a name.
        let named = |event: &&Value| {
            of("M")
                .iter()
                .any(|name| name["name"] == "thread_name" && name["tid"] == event["tid"])
        };
        assert!(of("X").iter().all(named));
    }

    #[test]
    fn nothing_but_the_whole_file_is_ever_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        let entries = || std::fs::read_dir(folder.path()).unwrap().count();
        drop(Trace::create(path.clone()).unwrap());
        assert_eq!(entries(), 0);
        std::fs::write(&path, "an older trace").unwrap();
        let failed = NewFile::create("--trace", path.clone())
            .unwrap()
            .write(|out| {
                out.write_all(b"half of it")?;
                anyhow::bail!("interrupted")
            });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"an older trace");
        assert_eq!(entries(), 1);
        write(folder.path());
        assert_eq!(entries(), 1);
    }

    #[test]
    fn a_place_where_nothing_can_be_written_is_a_usage_error() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing").join("trace.json");
        assert!(
            Trace::create(missing)
                .err()
                .unwrap()
                .0
                .contains("cannot write there")
        );
        let error = Trace::create(folder.path().to_owned()).err().unwrap();
        assert!(error.0.ends_with("this is a folder"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_its_file_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "trace.json"].map(|name| folder.path().join(name));
        fs::write(&file, "an older trace").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(folder.path());
        assert!(link.is_symlink());
        let metadata = fs::symlink_metadata(&file).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
        assert_ne!(fs::read(&file).unwrap(), b"an older trace");
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_has_the_permissions_of_any_new_file() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        fs::write(folder.path().join("other"), "").unwrap();
        let mode = |name| {
            fs::metadata(folder.path().join(name))
                .unwrap()
                .permissions()
        };
        assert_eq!(mode("trace.json"), mode("other"));
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |name: &str| Trace::create(folder.path().join(name)).err().unwrap().0;
        let socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket"));
        std::os::unix::fs::symlink("socket", folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("dangling")).unwrap();
        for name in ["socket", "link"] {
            assert!(refused(name).ends_with("this is not a regular file"));
        }
        assert!(refused("dangling").ends_with("this link leads nowhere"));
        assert!(socket.is_ok());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}
