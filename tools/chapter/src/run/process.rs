//! One example, run as a process of its own.

use crate::program::DeviceOptions;
use crate::targets::Program;
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The requests to an example.
#[derive(Clone, Debug)]
pub struct ProcessRequest<'a> {
    /// The device.
    pub device: &'a DeviceOptions,
    /// The parts to run; none for all.
    pub parts: Vec<&'a str>,
    /// Timed runs of each variant.
    pub iterations: Option<u32>,
    /// As much data as on a GPU.
    pub gpu_sizes: bool,
    /// What the software GPU's checkers do with what they find.
    pub races: Option<&'a str>,
}

/// How it ended.
pub struct Ended {
    /// With which code or signal.
    pub status: ExitStatus,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub errors: String,
    /// Wall time.
    pub time: Duration,
}

impl Ended {
    /// Its error message: the last line of its standard error.
    pub fn complaint(&self) -> String {
        let last = self.errors.lines().rev().find(|line| !line.is_empty());
        let last = last.unwrap_or("no message");
        let text = last.strip_prefix("error: ").unwrap_or(last);
        format!("{}: {text}", self.status)
    }
}

impl ProcessRequest<'_> {
    /// The arguments that say it.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = self.device.arguments();
        arguments.extend(self.parts.iter().map(|part| format!("--part={part}")));
        arguments.extend(self.iterations.map(|n| format!("--iterations={n}")));
        arguments.extend(self.gpu_sizes.then(|| "--gpu-sizes".to_owned()));
        arguments.extend(self.races.map(|mode| format!("--races={mode}")));
        arguments
    }
}

/// Runs the program, which writes its results to `json`; `line` sees each line of its output as it comes.
///
/// # Errors
/// It cannot be started or listened to.
pub fn run(
    program: &Program,
    order: &ProcessRequest,
    json: &Path,
    line: impl FnMut(&str),
) -> Result<Ended> {
    let mut command = Command::new(&program.path);
    command.args(order.arguments()).arg("--json").arg(json);
    listen(command, line).with_context(|| format!("cannot run {}", program.path.display()))
}

/// Runs a command to its end and keeps what it says.
pub fn listen(mut command: Command, mut line: impl FnMut(&str)) -> Result<Ended> {
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // Read both at once: a process that fills one pipe waits until it is read.
    let stderr = child.stderr.take();
    let errors = thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stderr) = stderr {
            stderr.read_to_end(&mut bytes)?;
        }
        std::io::Result::Ok(bytes)
    });
    let mut output = String::new();
    if let Some(stdout) = child.stdout.take() {
        for bytes in BufReader::new(stdout).split(b'\n') {
            let text = String::from_utf8_lossy(&bytes?).into_owned();
            line(&text);
            output.push_str(&text);
            output.push('\n');
        }
    }
    let status = child.wait()?;
    let errors = errors.join().unwrap_or_else(|_| Ok(Vec::new()))?;
    Ok(Ended {
        status,
        output,
        errors: String::from_utf8_lossy(&errors).into_owned(),
        time: start.elapsed(),
    })
}
