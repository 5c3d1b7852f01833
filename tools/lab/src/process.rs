//! Running a program that may do anything: within limits, and without waiting for it for ever.

use anyhow::Result;
use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use crate::confine;

/// What a process may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// From its start to its end.
    pub time: Duration,
    /// Address space in bytes, if it is limited.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only Linux limits it")
    )]
    pub memory: Option<u64>,
    /// Where it may write, if it is confined: there and nowhere else; and it may not use the network.
    pub folder: Option<PathBuf>,
    /// Whether a confined process may start others, as compilers do.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only Linux confines")
    )]
    pub may_fork: bool,
}

impl Limits {
    /// Of a program that is trusted: it may not take longer.
    pub fn time(time: Duration) -> Self {
        Self {
            time,
            memory: None,
            folder: None,
            may_fork: true,
        }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exit(i32),
    /// By a signal.
    #[cfg_attr(not(unix), expect(dead_code, reason = "Unix has signals"))]
    Signal(i32),
    /// It took too long, and was ended.
    TimedOut(Duration),
    /// It filled its folder with more than [`FOLDER_BYTES`], and was ended.
    FilledFolder,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "ended with exit code {code}"),
            Self::Signal(signal) => write!(f, "was ended by signal {signal}{}", name_of(*signal)),
            Self::TimedOut(limit) => write!(
                f,
                "had not ended after {} s and was stopped",
                limit.as_secs()
            ),
            Self::FilledFolder => write!(
                f,
                "wrote more than {} MiB into its folder and was stopped",
                FOLDER_BYTES >> 20
            ),
        }
    }
}

fn name_of(signal: i32) -> &'static str {
    match signal {
        4 => " (illegal instruction)",
        6 => " (abort)",
        8 => " (arithmetic error)",
        9 => " (killed)",
        11 => " (invalid memory access)",
        24 => " (CPU time used up)",
        25 => " (file too large)",
        31 => " (forbidden system call)",
        _ => "",
    }
}

/// What is left of a process.
#[derive(Debug)]
pub struct Done {
    /// How it ended.
    pub ended: Ended,
    /// What it wrote to standard output, up to [`MOST`].
    pub stdout: String,
    /// The same of standard error.
    pub stderr: String,
}

/// The most that the files in a confined process's folder may hold, all together.
const FOLDER_BYTES: u64 = 1 << 30;

/// Bytes that are kept of what a process writes.
const MOST: usize = 64 << 10;

/// Runs a command to its end, or to that of its time. It gets a process group of its own, none of which is left behind.
///
/// # Errors
/// It cannot be started.
pub fn run(mut command: Command, limits: &Limits) -> Result<Done> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    if let Some(folder) = &limits.folder {
        private_environment(&mut command, folder);
    }
    #[cfg(target_os = "linux")]
    confine::confine(&mut command, limits)?;
    let mut child = command.spawn()?;
    let stdout = drained(child.stdout.take());
    let stderr = drained(child.stderr.take());
    let ended = wait(&mut child, limits)?;
    end_group(&child);
    Ok(Done {
        ended,
        stdout: text(stdout),
        stderr: text(stderr),
    })
}

/// Takes everything from the environment that a confined process need not know: what it was given itself stays.
fn private_environment(command: &mut Command, folder: &Path) {
    let given: Vec<_> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    command.env_clear();
    for name in ["PATH", "LD_LIBRARY_PATH", "LANG"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command
        .env("TMPDIR", folder)
        .env("HOME", folder)
        .envs(given);
}

fn wait(child: &mut Child, limits: &Limits) -> Result<Ended> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    let is_full = |folder: &Path| bytes_in(folder, FOLDERS_DEEP) > FOLDER_BYTES;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(ended(status));
        }
        let too_much = if start.elapsed() >= limits.time {
            Some(Ended::TimedOut(limits.time))
        } else {
            let is_full = limits.folder.as_deref().is_some_and(is_full);
            is_full.then_some(Ended::FilledFolder)
        };
        if let Some(ended) = too_much {
            end_group(child);
            let _ = child.kill();
            child.wait()?;
            return Ok(ended);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// How deep the files in a process's folder are counted.
const FOLDERS_DEEP: usize = 8;

/// The bytes of a folder's files. What disappears meanwhile does not count.
fn bytes_in(folder: &Path, depth: usize) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() && depth > 0 => bytes_in(&entry.path(), depth - 1),
        Ok(metadata) if metadata.is_file() => metadata.len(),
        _ => 0,
    });
    bytes.sum()
}

/// Ends what is left of the process's group: the processes that it started.
fn end_group(child: &Child) {
    #[cfg(unix)]
    if let Ok(group) = i32::try_from(child.id()) {
        // SAFETY: the call takes two numbers. The group is the child's own: it was made for it.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    #[cfg(not(unix))]
    let _ = child;
}

fn ended(status: ExitStatus) -> Ended {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Ended::Signal(signal);
    }
    Ended::Exit(status.code().unwrap_or(1))
}

/// Reads all of it, so that the process never waits for a reader, and keeps the beginning.
fn drained(from: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut kept = Vec::new();
        let Some(mut from) = from else {
            return kept;
        };
        let mut buffer = [0; 8192];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let room = MOST.saturating_sub(kept.len()).min(count);
            kept.extend_from_slice(&buffer[..room]);
        }
        kept
    })
}

fn text(reader: JoinHandle<Vec<u8>>) -> String {
    String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
}
