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
    /// What holds besides, unless it is trusted.
    pub confinement: Option<Confinement>,
}

/// The permissions of an untrusted process. It has no network, no terminal, and reaches no other process.
#[derive(Clone, Debug)]
pub struct Confinement {
    /// Where it may write: there and nowhere else.
    pub folder: PathBuf,
    /// The paths that it may read besides that folder and the system's libraries.
    pub readable: Vec<PathBuf>,
    /// Address space in bytes.
    pub memory: u64,
    /// What it is.
    pub role: Role,
}

/// What a confined process is, which decides about its system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A program that is graded: it starts no process.
    Program,
    /// A compiler: it starts a linker, and removes its own files.
    Compiler,
}

impl Limits {
    /// The limits of a trusted process: only its time is bounded.
    pub fn time(time: Duration) -> Self {
        Self {
            time,
            confinement: None,
        }
    }

    /// The same for a process that may also read these files and folders.
    pub fn reading(&self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut limits = self.clone();
        if let Some(confinement) = &mut limits.confinement {
            confinement.readable.extend(paths);
        }
        limits
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exit(i32),
    /// By a signal.
    Signal(i32),
    /// It took too long, and was ended.
    TimedOut(Duration),
    /// It filled its folder with more than `FOLDER_BYTES` or `FOLDER_ENTRIES`, and was ended.
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
                "wrote more than {} MiB or {FOLDER_ENTRIES} files into its folder and was stopped",
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

/// The remains of a process.
#[derive(Debug)]
pub struct Done {
    /// How it ended.
    pub ended: Ended,
    /// What it wrote to standard output, up to `MOST`.
    pub stdout: String,
    /// The same of standard error.
    pub stderr: String,
}

/// The most that the files in a confined process's folder may hold, all together.
const FOLDER_BYTES: u64 = 1 << 30;

/// The most files that it may have there.
const FOLDER_ENTRIES: u64 = 10_000;

/// Bytes that are kept of what a process writes.
const MOST: usize = 64 << 10;

/// Runs a command to its end, or to that of its time. It gets a process group of its own, none of which is left behind, in a session
/// of its own, which has no terminal that it could type into.
///
/// # Errors
/// It cannot be started.
pub fn run(mut command: Command, limits: &Limits) -> Result<Done> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    own_session(&mut command);
    if let Some(confinement) = &limits.confinement {
        private_environment(&mut command, &confinement.folder);
        #[cfg(target_os = "linux")]
        confine::confine(&mut command, confinement, limits.time)?;
    }
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

/// The folder of the toolchain that a compiler belongs to, if its path says so: `TOOLCHAIN/bin/rustc`.
pub fn toolchain(compiler: &Path) -> Option<PathBuf> {
    Some(compiler.parent()?.parent()?.to_owned()).filter(|folder| folder.is_absolute())
}

#[cfg(unix)]
fn own_session(command: &mut Command) {
    let before_exec = || -> std::io::Result<()> {
        // SAFETY: the call takes nothing.
        match unsafe { libc::setsid() } {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // SAFETY: the closure makes one system call.
    unsafe { std::os::unix::process::CommandExt::pre_exec(command, before_exec) };
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
    let confinement = limits.confinement.as_ref();
    let is_full = || confinement.is_some_and(|confinement| is_full(&confinement.folder));
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(ended(status));
        }
        let too_much = if start.elapsed() >= limits.time {
            Some(Ended::TimedOut(limits.time))
        } else {
            is_full().then_some(Ended::FilledFolder)
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

/// Whether a folder holds more than it may. A program makes no folders within its own, and removes nothing; a compiler does, and its
/// folders are a few deep.
fn is_full(folder: &Path) -> bool {
    let mut left = Room {
        bytes: FOLDER_BYTES,
        entries: FOLDER_ENTRIES,
    };
    left.take(folder, FOLDERS_DEEP).is_none()
}

/// How deep folders are looked into. Compilers use two levels.
const FOLDERS_DEEP: usize = 8;

/// What a folder may hold besides what has been counted.
struct Room {
    bytes: u64,
    entries: u64,
}

impl Room {
    /// Counts a folder's files; `None` when they are too much. What disappears meanwhile does not count.
    fn take(&mut self, folder: &Path, depth: usize) -> Option<()> {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            self.entries = self.entries.checked_sub(1)?;
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => {
                    self.take(&entry.path(), depth.checked_sub(1)?)?;
                }
                Ok(metadata) => self.bytes = self.bytes.checked_sub(metadata.len())?,
                Err(_) => {}
            }
        }
        Some(())
    }
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
